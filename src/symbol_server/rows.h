// Unwind rows of a module, from any of its files.
#pragma once
#include <cstdint>
#include <optional>

#include "model/row_table.h"
#include "symbols/frame_bytes.h"

namespace heaptap::symbol_server {

// See elf::make_rows().
model::RowTable rows_of(const symbols::FrameBytes& frames, std::optional<uint64_t> wanted);

}  // namespace heaptap::symbol_server
