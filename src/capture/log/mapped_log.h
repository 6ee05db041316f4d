// Log as mapped in full by a writer that may make any system call: the tracer, and tests. See common/wire/log_streams.h.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/log/log_clock.h"
#include "common/wire/log.h"

namespace heaptap::log {

class MappedLog {
 public:
  // `layout`: a checked copy of the header's.
  MappedLog(wire::LogHeader& header, const wire::LogLayout& layout);

  [[nodiscard]] wire::LogHeader& header() const { return header_; }
  [[nodiscard]] const wire::LogLayout& layout() const { return layout_; }
  [[nodiscard]] wire::StreamSlot& slot(uint32_t index) const { return slots_[index]; }
  [[nodiscard]] wire::ChunkHeader& chunk(uint32_t index) const {
    return *reinterpret_cast<wire::ChunkHeader*>(chunks_ + size_t{index} * wire::kChunkBytes);
  }
  [[nodiscard]] bool gets_chunk(uint32_t index) const {
    return index < layout_.chunk_count && index < header_.usable_chunks.load(std::memory_order_acquire);
  }
  // With a single writer any reading is in order.
  [[nodiscard]] uint64_t time_in_order() { return clock_.event_time(); }

  static bool may_call() { return true; }
  static bool wait(std::atomic<uint32_t>& word, uint32_t value, uint32_t milliseconds);
  static void wake(std::atomic<uint32_t>& word);
  static void relax() {}  // only needed where system calls are not permitted

 private:
  wire::LogHeader& header_;
  const wire::LogLayout layout_;
  LogClock clock_;
  wire::StreamSlot* const slots_;
  uint8_t* const chunks_;
};

}  // namespace heaptap::log
