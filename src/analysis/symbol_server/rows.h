// Unwind rows of a module, from any of its files.
#pragma once
#include <cstdint>
#include <optional>

#include "analysis/symbols/frame_bytes.h"
#include "common/model/row_table.h"

namespace heaptap::symbol_server {

// See elf::make_rows().
model::RowTable rows_of(const symbols::FrameBytes& frames, std::optional<uint64_t> wanted);

}  // namespace heaptap::symbol_server
