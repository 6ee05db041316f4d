// Payloads of the capture frame at the start and of the end frame: fields of a number and bytes; a reader skips unknown
// numbers. Writer and reader.
#pragma once
#include "model/capture.h"
#include "trace/byte_buffer.h"
#include "wire/varint.h"

namespace heaptap::trace {

void write_capture_start(ByteBuffer& out, const model::Capture& capture);
void write_capture_end(ByteBuffer& out, const model::Capture& capture);

// Reads the payload of either frame. False: damaged.
bool read_capture(wire::VarintReader& in, model::Capture& capture);

}  // namespace heaptap::trace
