// Read-ahead of a trace's decoded frames, in order. With more than one processor, a thread decodes ahead of the caller,
// far enough that neither waits long for the other, and no further: memory is bounded by the slots, which fit the
// processors' caches. A waiting thread is woken when there is work for a while, not for each slot.
//
//   decoder's thread ▸ [slot][slot]…[slot] ▸ caller       a slot is the decoder's, ready, or the caller's
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "record/trace/frame_decoder.h"

namespace heaptap::trace {

class FramesAhead {
 public:
  // Without a thread each frame is decoded on request; the result is the same.
  FramesAhead(int descriptor, uint64_t file_bytes, const DecoderOptions& options, bool with_thread);
  ~FramesAhead();
  FramesAhead(const FramesAhead&) = delete;
  FramesAhead& operator=(const FramesAhead&) = delete;

  // The next frame, valid until the next call; null: no more. Rethrows the decoder's exceptions.
  const DecodedFrame* next();

  // Whether a separate thread pays off on this machine.
  static bool has_processors();

 private:
  static constexpr size_t kSlots = 16;
  static constexpr size_t kWorthWaking = 4;  // slots

  void decode(const std::stop_token& stop);
  bool wait_for_slot(const std::stop_token& stop);
  void hand_over(bool is_last);

  FrameDecoder decoder_;
  std::array<DecodedFrame, kSlots> slots_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  uint64_t decoded_ = 0;  // frames handed over
  uint64_t taken_ = 0;    // frames requested by the caller, which uses the last of them
  bool decoder_waits_ = false;
  bool caller_waits_ = false;
  bool ended_ = false;  // no more frames after those handed over
  std::exception_ptr failure_;

  std::jthread thread_;  // last, so that it ends before the members that it uses
};

}  // namespace heaptap::trace
