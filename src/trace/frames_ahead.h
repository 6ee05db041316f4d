// A trace's decoded frames in order. Where there is more than one processor, a thread decodes ahead of the caller, by so
// much that neither waits long for the other, and no more: memory is bounded by the slots, and what is in them stays in
// the processors' caches. Who waits is woken when there is work for a while, not for each slot.
//
//   decoder's thread ▸ [slot][slot]…[slot] ▸ caller       a slot belongs to the decoder, or waits, or is the caller's
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "trace/frame_decoder.h"

namespace heaptap::trace {

class FramesAhead {
 public:
  // Without a thread each frame is decoded when it is asked for; what comes is the same.
  FramesAhead(int descriptor, uint64_t file_bytes, const DecoderOptions& options, bool with_thread);
  ~FramesAhead();
  FramesAhead(const FramesAhead&) = delete;
  FramesAhead& operator=(const FramesAhead&) = delete;

  // The next frame, valid until the next call; null: there are no more. Throws what the decoder threw.
  const DecodedFrame* next();

  // Whether a thread of its own pays on this machine.
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
  uint64_t decoded_ = 0;  // frames that were handed over
  uint64_t taken_ = 0;    // frames that the caller asked for; the last of them is in use
  bool decoder_waits_ = false;
  bool caller_waits_ = false;
  bool ended_ = false;  // nothing comes behind those that were handed over
  std::exception_ptr failure_;

  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace heaptap::trace
