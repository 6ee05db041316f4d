// Payloads of the capture frame at the start and of the end frame: fields of a number and bytes; a reader skips unknown
// numbers. Writer and reader.
#pragma once
#include "common/frames/byte_buffer.h"
#include "common/model/capture.h"
#include "common/wire/varint.h"

namespace heaptap::frames {

void write_capture_start(ByteBuffer& out, const model::Capture& capture);
void write_capture_end(ByteBuffer& out, const model::Capture& capture);

// Reads the payload of either frame. False: damaged.
bool read_capture(wire::VarintReader& in, model::Capture& capture);

}  // namespace heaptap::frames
