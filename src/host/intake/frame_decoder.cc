#include "host/intake/frame_decoder.h"

#include "host/intake/capture_frames.h"
#include "host/intake/table_frames.h"

namespace heaptap::intake {

FrameDecoder::FrameDecoder(int descriptor, uint64_t file_bytes, bool with_addresses)
    : frames_(descriptor, file_bytes), file_bytes_(file_bytes), with_addresses_(with_addresses) {}

bool FrameDecoder::next(DecodedFrame& frame) {
  if (ended_ || offset_ >= file_bytes_) return false;
  frame.offset = offset_;
  frame.wrong = read(frame);
  offset_ = frame.end = offset_ + wire::kFrameHeadBytes + frame_.head.stored_bytes;
  ended_ = frame.wrong != nullptr || frame.type == wire::FrameType::kIndex;
  return true;
}

const char* FrameDecoder::read(DecodedFrame& frame) {
  if (!frames_.read(offset_, frame_)) {
    return frames_.is_cut_off() ? "the file ends in the middle of a frame" : "a frame is damaged";
  }
  if (frame_.head.number != number_++) return "frames are missing";
  frame.type = frame_.head.type;
  return take(frame) ? nullptr : kUnsound;
}

bool FrameDecoder::take(DecodedFrame& frame) {
  if (frame.type == wire::FrameType::kEvents) return take_events(frame);
  frame.payload.assign(frame_.payload.here(), frame_.payload.here() + frame_.payload.left());
  switch (frame.type) {
    case wire::FrameType::kCapture:
    case wire::FrameType::kEnd:
      return read_capture(frame_.payload, facts_);
    case wire::FrameType::kSites:
      return read_sites(frame_.payload, kAnyStack, sites_only_.sites);
    default:
      return true;
  }
}

bool FrameDecoder::take_events(DecodedFrame& frame) {
  model::EventBatch& batch = frame.batch;
  if (facts_.time_resolution_ns == 0 ||
      !events_.read(frame_.payload, sites_only_, facts_.time_resolution_ns, with_addresses_, batch)) {
    return false;
  }
  if (batch.first_block != 1 && batch.first_block != next_block_) return false;
  next_block_ = batch.first_block + events_.allocations();
  return true;
}

}  // namespace heaptap::intake
