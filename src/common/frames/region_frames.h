// Payload of frames of resident regions. Writer and reader; shared by traces and connections between two machines.
#pragma once
#include "common/frames/byte_buffer.h"
#include "common/model/resident_regions.h"
#include "common/wire/varint.h"

namespace heaptap::frames {

// The limits of the model hold for them.
void write_regions(ByteBuffer& out, const model::ResidentRegions& regions);
// False: damaged.
bool read_regions(wire::VarintReader& in, model::ResidentRegions& regions);

}  // namespace heaptap::frames
