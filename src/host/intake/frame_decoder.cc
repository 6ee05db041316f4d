#include "host/intake/frame_decoder.h"

#include "host/intake/capture_frames.h"
#include "host/intake/table_frames.h"

namespace heaptap::intake {

FrameDecoder::FrameDecoder(int descriptor, uint64_t file_bytes, bool with_addresses)
    : frames_(descriptor, file_bytes), file_bytes_(file_bytes), with_addresses_(with_addresses) {}

bool FrameDecoder::next(DecodedFrame& frame) {
  if (ended_ || offset_ >= file_bytes_) return false;
  frame.offset = frame.end = offset_;
  frame.wrong = has_more_events_ ? next_events(frame) : read(frame);
  if (!has_more_events_) offset_ = frame.end = offset_ + wire::kFrameHeadBytes + frame_.head.stored_bytes;
  ended_ = frame.wrong != nullptr || frame.type == wire::FrameType::kIndex;
  return true;
}

const char* FrameDecoder::read(DecodedFrame& frame) {
  if (!frames_.read(offset_, frame_)) {
    return frames_.is_cut_off() ? "the file ends in the middle of a frame" : "a frame is damaged";
  }
  if (frame_.head.number != number_++) return "frames are missing";
  frame.type = frame_.head.type;
  if (frame.type == wire::FrameType::kEvents) return begin_events() ? next_events(frame) : kUnsound;
  return take(frame) ? nullptr : kUnsound;
}

bool FrameDecoder::take(DecodedFrame& frame) {
  frame.payload.clear();
  if (frame.type == wire::FrameType::kScan) return true;  // large, and who wants it reads it from the file
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

bool FrameDecoder::begin_events() {
  if (facts_.time_resolution_ns == 0 ||
      !events_.begin(frame_.payload, sites_only_, facts_.time_resolution_ns, with_addresses_)) {
    return false;
  }
  return events_.first_block() == 1 || events_.first_block() == next_block_;
}

const char* FrameDecoder::next_events(DecodedFrame& frame) {
  frame.type = wire::FrameType::kEvents;
  const bool sound = events_.next(sites_only_, frame.batch);
  next_block_ = events_.next_block();
  has_more_events_ = sound && !events_.at_end();
  return sound ? nullptr : kUnsound;
}

}  // namespace heaptap::intake
