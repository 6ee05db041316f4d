#include "record/trace/frames_ahead.h"

#include <utility>

namespace heaptap::trace {

FramesAhead::FramesAhead(int descriptor, uint64_t file_bytes, const DecoderOptions& options, bool with_thread)
    : decoder_(descriptor, file_bytes, options) {
  if (with_thread) thread_ = std::jthread([this](const std::stop_token& stop) { decode(stop); });
}

FramesAhead::~FramesAhead() = default;

bool FramesAhead::has_processors() { return std::thread::hardware_concurrency() > 1; }

const DecodedFrame* FramesAhead::next() {
  if (!thread_.joinable()) return decoder_.next(slots_[0]) ? &slots_[0] : nullptr;
  std::unique_lock lock(mutex_);
  ++taken_;
  if (decoder_waits_ && decoded_ + kWorthWaking < taken_ + kSlots) changed_.notify_one();
  if (decoded_ < taken_ && !ended_) {
    caller_waits_ = true;
    changed_.wait(lock, [this] { return decoded_ >= taken_ + kWorthWaking || ended_; });
    caller_waits_ = false;
  }
  if (decoded_ >= taken_) return &slots_[(taken_ - 1) % kSlots];
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return nullptr;
}

void FramesAhead::decode(const std::stop_token& stop) {
  try {
    while (wait_for_slot(stop)) {
      const bool has_frame = decoder_.next(slots_[decoded_ % kSlots]);
      hand_over(!has_frame);
      if (!has_frame) return;
    }
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    failure_ = std::current_exception();
    ended_ = true;
    changed_.notify_one();
  }
}

// A slot is free when the caller has requested the frame after the one in it. False: no more are wanted.
bool FramesAhead::wait_for_slot(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (decoded_ < taken_ + (kSlots - 1)) return !stop.stop_requested();
  decoder_waits_ = true;
  const bool has_slots = changed_.wait(lock, stop, [this] { return decoded_ + kWorthWaking < taken_ + kSlots; });
  decoder_waits_ = false;
  return has_slots && !stop.stop_requested();
}

void FramesAhead::hand_over(bool is_last) {
  const std::scoped_lock lock(mutex_);
  decoded_ += is_last ? 0 : 1;
  ended_ = is_last;
  if (caller_waits_ && (is_last || decoded_ >= taken_ + kWorthWaking)) changed_.notify_one();
}

}  // namespace heaptap::trace
