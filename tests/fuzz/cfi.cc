// Call frame information of any content: looking up a row reads only the tables and ends. The input is where the header is,
// an address to look for, and the tables' bytes.
#include <cstdint>
#include <vector>

#include "common/arch/native.h"
#include "common/unwind/cfi.h"
#include "fuzz/support/byte_source.h"

using namespace heaptap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  constexpr uint64_t kStart = 0x10000;
  fuzz::ByteSource source(bytes, size_bytes);
  const uint64_t header = kStart + source.take<uint16_t>();
  const uint64_t pc = kStart + source.take<uint32_t>();
  const std::span<const uint8_t> rest = source.rest();
  const std::vector<uint8_t> tables(rest.begin(),
                                    rest.end());  // of exactly this size, so that one byte more is noticed
  const unwind::CfiTables cfi{kStart, kStart + tables.size(), tables.data(), header};
  for (const uint64_t address : {pc, pc - kStart, kStart, ~uint64_t{0}}) {
    [[maybe_unused]] const unwind::Row row = unwind::find_row<arch::native::Unwinding>(cfi, address);
  }
  return 0;
}
