#include "record/trace/frame_decoder.h"

#include <algorithm>

#include "common/frames/capture_frames.h"
#include "common/frames/table_frames.h"

namespace heaptap::trace {
namespace {

constexpr const char* kMissingFrames = "frames are missing";

// Bounds the memory for a small file: each of these blocks may be live, and takes up to 40 bytes. Frames of a program
// that repeats itself have a few hundred bytes.
constexpr uint64_t max_events(uint64_t file_bytes) {
  constexpr uint64_t kUsual = uint64_t{1} << 24;
  constexpr uint64_t kEventsAByte = 4096;
  return kUsual + kEventsAByte * file_bytes;
}

}  // namespace

FrameDecoder::FrameDecoder(int descriptor, uint64_t file_bytes, const DecoderOptions& options)
    : frames_(descriptor, file_bytes),
      file_bytes_(file_bytes),
      options_(options),
      tables_(file_bytes, options.is_numbered, TableBuilder::Wants::kSites) {}

bool FrameDecoder::next(DecodedFrame& frame) {
  if (!options_.with_events) pass_over_events();
  if (ended_ || offset_ >= file_bytes_) return false;
  frame.offset = frame.end = offset_;
  frame.is_last = false;
  frame.wrong = has_more_events_ ? next_events(frame) : read(frame);
  if (frame.wrong != nullptr && !has_more_events_) {
    frame.is_last = frame.is_last || !go_on_behind_damage();
  } else if (!has_more_events_) {
    offset_ = frame.end = offset_ + wire::kFrameHeadBytes + frame_.head.stored_bytes;
  }
  ended_ = frame.is_last || (frame.wrong == nullptr && frame.type == wire::FrameType::kIndex);
  return true;
}

void FrameDecoder::grow(uint64_t file_bytes) {
  file_bytes_ = file_bytes;
  frames_.grow(file_bytes);
  tables_.grow(file_bytes);
}

void FrameDecoder::pass_over_events() {
  wire::FrameHead head;
  while (!ended_ && frames_.read_head(offset_, head) && head.type == wire::FrameType::kEvents &&
         head.number == number_) {
    offset_ += wire::kFrameHeadBytes + head.stored_bytes;
    ++number_;
  }
}

const char* FrameDecoder::read(DecodedFrame& frame) {
  if (!frames_.read(offset_, frame_)) {
    return frames_.is_cut_off() ? "the file ends in the middle of a frame" : "a frame is damaged";
  }
  if (frame_.head.number != number_) {
    frame.is_last = frame_.head.number < number_;
    return kMissingFrames;
  }
  ++number_;
  frame.type = frame_.head.type;
  const bool is_events = frame.type == wire::FrameType::kEvents;
  const char* wrong = is_events ? begin_events(frame) : take(frame);
  // Self-contained frames are sound; frames that refer to missing ones can't be decoded either.
  if (wrong != nullptr) frame.is_last = frame.is_last || !is_events || !tables_.has_gaps();
  return wrong;
}

// Skips to the next whole frame. False: there is none, or the numbers of its entries are unknown.
bool FrameDecoder::go_on_behind_damage() {
  if (!tables_.can_have_gaps()) return false;
  uint64_t found = 0;
  // A sound frame that comes too early is decoded in its turn.
  const bool is_sound = frames_.read(offset_, frame_) && frame_.head.number >= number_;
  if (is_sound) {
    found = offset_;
  } else if (!frames_.find(offset_ + 1, number_, found)) {
    return false;
  }
  wire::FrameHead head;
  if (!frames_.read_head(found, head)) return false;
  tables_.expect_gaps();
  offset_ = found;
  number_ = head.number;
  return true;
}

const char* FrameDecoder::take(DecodedFrame& frame) {
  frame.payload.clear();
  // Large, and read from the file on demand.
  if (frame.type == wire::FrameType::kScan || frame.type == wire::FrameType::kScanRegions) return nullptr;
  frame.payload.assign(frame_.payload.here(), frame_.payload.here() + frame_.payload.left());
  switch (frame.type) {
    case wire::FrameType::kCapture:
    case wire::FrameType::kEnd:
      return frames::read_capture(frame_.payload, facts_) ? nullptr : kUnsound;
    default:
      return tables_.take(frame.type, frame_.payload, sites_only_);
  }
}

const char* FrameDecoder::begin_events(DecodedFrame& frame) {
  if (facts_.time_resolution_ns == 0 ||
      !events_.begin(frame_.payload, sites_only_, facts_.time_resolution_ns, options_.with_addresses) ||
      (tables_.has_gaps() && events_.names_missing(tables_))) {
    return kUnsound;
  }
  const model::BlockNumber first = events_.first_block();
  const bool has_gap = tables_.has_gaps() && first > next_block_;
  if (first != 1 && first != next_block_ && !has_gap) return kUnsound;
  event_count_ += events_.event_count();
  if (event_count_ > max_events(file_bytes_)) {
    frame.is_last = true;
    return "more events than a trace of this size can hold";
  }
  if (has_gap) missing_blocks_.push_back({next_block_, first});
  return next_events(frame);
}

const char* FrameDecoder::next_events(DecodedFrame& frame) {
  frame.type = wire::FrameType::kEvents;
  const bool sound = events_.next(sites_only_, frame.batch);
  next_block_ = events_.next_block();
  has_more_events_ = sound && !events_.at_end();
  if (!sound) {
    frame.is_last = true;
    return kUnsound;
  }
  if (!missing_blocks_.empty()) forget_missing_blocks(frame.batch);
  return nullptr;
}

// Releases of blocks with lost allocations become unknown releases.
void FrameDecoder::forget_missing_blocks(model::EventBatch& batch) const {
  const auto is_missing = [this](model::BlockNumber block) {
    const auto behind =
        std::upper_bound(missing_blocks_.begin(), missing_blocks_.end(), block,
                         [](model::BlockNumber number, const Blocks& gap) { return number < gap.begin; });
    return behind != missing_blocks_.begin() && block < std::prev(behind)->end;
  };
  const auto known = static_cast<std::ptrdiff_t>(batch.bad_releases.size());
  for (size_t i = 0; i < batch.events.size(); ++i) {
    model::Event& event = batch.events[i];
    if (sites_only_.sites[event.site].kind != model::EventKind::kRelease || !is_missing(event.size_or_block)) continue;
    event.size_or_block = model::kUnknownBlock;
    event.address = 0;
    model::BadRelease unknown{};
    unknown.event = static_cast<uint32_t>(i);
    unknown.kind = model::BadReleaseKind::kUnknown;
    batch.bad_releases.push_back(unknown);
  }
  std::ranges::inplace_merge(batch.bad_releases, batch.bad_releases.begin() + known, {}, &model::BadRelease::event);
}

}  // namespace heaptap::trace
