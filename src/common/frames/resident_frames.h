// Payload of frames of samples of resident memory. Writer and reader; shared by traces and connections between two machines.
#pragma once
#include <span>
#include <vector>

#include "common/frames/byte_buffer.h"
#include "common/model/resident.h"
#include "common/wire/varint.h"

namespace heaptap::frames {

// In the order of their times.
void write_resident(ByteBuffer& out, std::span<const model::ResidentSample> samples);
// Appends the payload's samples. False, and none is appended: damaged, earlier than those before, or too many.
bool read_resident(wire::VarintReader& in, std::vector<model::ResidentSample>& samples);

}  // namespace heaptap::frames
