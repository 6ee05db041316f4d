// The payloads of the frames that say what a capture is (at the start) and how it ended. Fields are a number and bytes;
// a reader passes over numbers that it doesn't know. Writer and reader.
#pragma once
#include "model/capture.h"
#include "trace/byte_buffer.h"
#include "wire/varint.h"

namespace heaptap::trace {

void write_capture_start(ByteBuffer& out, const model::Capture& capture);
void write_capture_end(ByteBuffer& out, const model::Capture& capture);

// Takes what the payload holds, of either frame. False where it is damaged.
bool read_capture(wire::VarintReader& in, model::Capture& capture);

}  // namespace heaptap::trace
