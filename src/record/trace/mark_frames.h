// Payloads of frames of marks and of block names. Writer and reader.
#pragma once
#include <vector>

#include "common/frames/byte_buffer.h"
#include "common/model/mark.h"
#include "common/wire/varint.h"

namespace heaptap::trace {

void write_marks(frames::ByteBuffer& out, const std::vector<model::Mark>& marks);

// Appends the payload's marks. False: damaged; some may have been appended.
bool read_marks(wire::VarintReader& in, std::vector<model::Mark>& marks);

void write_block_names(frames::ByteBuffer& out, const std::vector<model::BlockName>& names);
bool read_block_names(wire::VarintReader& in, std::vector<model::BlockName>& names);

}  // namespace heaptap::trace
