// Call frame information of any content, in memory that can be read in part and in a file: by its search table, without one, and
// in the form of .debug_frame. The input is where everything is, addresses to look for, and the bytes.
#include "capture/elf/frame_tables.h"

#include <span>

#include "common/arch/i386/registers.h"
#include "common/arch/x86_64/registers.h"
#include "fuzz/support/byte_source.h"
#include "fuzz/support/memory_file.h"
#include "fuzz/support/span_bytes.h"

using namespace heaptap;

namespace {

constexpr uint64_t kStart = 0x10000;

template <typename Cpu>
void look_up(elf::FrameTablePlaces places, const base::ByteSource& memory, uint64_t pc) {
  places.word_bytes = sizeof(typename Cpu::Word);
  elf::FrameTables tables(places, memory);
  for (const uint64_t address : {pc, pc + 1, places.range.begin, places.bias + 1, ~uint64_t{0}, uint64_t{0}}) {
    [[maybe_unused]] const unwind::Row row = tables.row_for<Cpu>(address);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  fuzz::ByteSource source(bytes, size_bytes);
  const auto header = source.take<uint16_t>();
  const auto table = source.take<uint16_t>();
  const auto table_bytes = source.take<uint32_t>();
  const auto unreadable = source.take<uint16_t>();
  const auto bias = source.take<uint32_t>();
  const auto pc = source.take<uint32_t>();
  const std::span<const uint8_t> rest = source.rest();
  const fuzz::SpanBytes memory(unreadable != 0 && unreadable < rest.size() ? rest.first(unreadable) : rest, kStart);
  const fuzz::MemoryFile file(rest);
  const elf::FrameTablePlaces places{.range = {kStart, kStart + rest.size()},
                                     .header = header != 0 ? kStart + header : 0,
                                     .table = table != 0 ? kStart + table : 0,
                                     .table_bytes = table_bytes,
                                     .bias = bias,
                                     .file = file.descriptor(),
                                     .file_offset = table,
                                     .file_bytes = table_bytes};
  look_up<arch::x86_64::Unwinding>(places, memory, pc);
  look_up<arch::i386::Unwinding>(places, memory, pc);
  return 0;
}
