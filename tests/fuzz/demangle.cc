// Names of symbols, as compilers or anybody else wrote them.
#include <cstdint>
#include <string>

#include "analysis/symbols/resolver.h"
#include "fuzz/support/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  const std::string name(reinterpret_cast<const char*>(bytes), size_bytes);
  FUZZ_EXPECT(heaptap::symbols::demangle(name).empty() == name.empty());
  return 0;
}
