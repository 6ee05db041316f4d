// Makes rows for unwinding of an object's call frame information, for a machine that doesn't have it: of .debug_frame, which
// only the file with debug information has, and of .eh_frame. Trusts no byte.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "model/row_table.h"
#include "wire/architecture.h"

namespace heaptap::elf {

// The sections as the file has them; empty: it hasn't.
struct FrameSections {
  wire::Architecture architecture = wire::Architecture::kUnknown;
  std::span<const uint8_t> debug_frame = {};
  std::span<const uint8_t> eh_frame = {};
  uint64_t eh_frame_address = 0;
};

// Rows of .debug_frame; and where the object has none for `wanted`, a link-time address, of .eh_frame as well, if that has one. Of an
// object that lacks all (model::kNoRowAnywhere) rows of both. Empty: there is no row, or the CPU's stacks can't be walked.
model::RowTable make_rows(const FrameSections& sections, std::optional<uint64_t> wanted);

}  // namespace heaptap::elf
