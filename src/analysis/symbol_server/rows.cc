#include "analysis/symbol_server/rows.h"

#include <span>
#include <string>

#include "capture/elf/row_maker.h"
#include "common/base/byte_span.h"

namespace heaptap::symbol_server {
namespace {

wire::Architecture architecture_of(uint16_t machine) {
  for (const wire::Architecture each : wire::kArchitectures) {
    if (wire::elf_machine_of(each) == machine) return each;
  }
  return wire::Architecture::kUnknown;
}

}  // namespace

model::RowTable rows_of(const symbols::FrameBytes& frames, std::optional<uint64_t> wanted) {
  return elf::make_rows({.architecture = architecture_of(frames.machine),
                         .debug_frame = base::bytes_of(frames.debug_frame),
                         .eh_frame = base::bytes_of(frames.eh_frame),
                         .eh_frame_address = frames.eh_frame_address,
                         .is_swapped = frames.is_swapped},
                        wanted);
}

}  // namespace heaptap::symbol_server
