// An exception index of any content: looking up a row reads only the tables and ends. The input is where the index is, its size, an
// address to look for, and the tables' bytes.
#include <cstdint>
#include <vector>

#include "common/arch/arm/registers.h"
#include "common/unwind/exception_index.h"
#include "fuzz/support/byte_source.h"

using namespace heaptap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  constexpr uint64_t kStart = 0x10000;
  fuzz::ByteSource source(bytes, size_bytes);
  const uint64_t header = kStart + source.take<uint16_t>();
  const uint64_t header_bytes = source.take<uint16_t>();
  const uint64_t pc = kStart + source.take<uint32_t>();
  const std::span<const uint8_t> rest = source.rest();
  const std::vector<uint8_t> copy(rest.begin(), rest.end());  // of exactly this size, so that one byte more is noticed
  const unwind::CfiTables tables{kStart, kStart + copy.size(), copy.data(), header, header_bytes};
  for (const uint64_t address : {pc, pc - kStart, kStart, ~uint64_t{0}}) {
    [[maybe_unused]] const unwind::Row row = unwind::find_indexed_row<arch::arm::Unwinding>(tables, address);
    [[maybe_unused]] const uint64_t function = unwind::indexed_function_of(tables, address);
  }
  return 0;
}
