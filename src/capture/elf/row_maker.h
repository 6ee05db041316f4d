// Unwind rows from an object's call frame information, for a machine without it: from .debug_frame, which only the file
// with debug information has, and from .eh_frame. Trusts no byte.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "common/model/row_table.h"
#include "common/wire/architecture.h"

namespace heaptap::elf {

// Sections of the file; empty: missing.
struct FrameSections {
  wire::Architecture architecture = wire::Architecture::kUnknown;
  std::span<const uint8_t> debug_frame = {};
  std::span<const uint8_t> eh_frame = {};
  uint64_t eh_frame_address = 0;
  bool is_swapped = false;  // the file has the other byte order
};

// Rows of .debug_frame; if it has none for `wanted`, a link-time address, and .eh_frame has one, also of .eh_frame. If the
// loaded object has no tables at all (model::kNoRowAnywhere), rows of both. Empty: no row, or the CPU's stacks can't be walked.
model::RowTable make_rows(const FrameSections& sections, std::optional<uint64_t> wanted);

}  // namespace heaptap::elf
