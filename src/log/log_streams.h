// The log's streams: slots for threads, chunks for their records. One thread writes them all; the collector at the other end
// gives chunks and slots back.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "log/log_clock.h"
#include "wire/log.h"

namespace heaptap::log {

// Of one thread, from its first event to its end.
class LogStream {
 public:
  wire::StreamSlot* slot = nullptr;
  wire::ChunkHeader* chunk = nullptr;
  uint8_t* cursor = nullptr;  // where the next record goes
  uint8_t* end = nullptr;     // of the chunk
  uint64_t base_time = 0;
};

class LogStreams {
 public:
  explicit LogStreams(wire::LogHeader& log);

  // Null: no room, in spite of a wait.
  LogStream* open(uint32_t kernel_thread_id);
  void end(LogStream* stream);

  // Makes room for `bytes` at the cursor. False: there was none in time.
  bool reserve(LogStream& stream, size_t bytes);

  [[nodiscard]] LogClock& clock() { return clock_; }

 private:
  wire::StreamSlot* pop_slot();
  uint32_t pop_chunk();
  template <typename T, typename Attempt>
  T claim(T nothing, const Attempt& attempt);
  uint32_t claim_chunk();
  void begin_chunk(LogStream& stream, uint32_t index);

  wire::LogHeader& log_;
  LogClock clock_;
  const uint32_t slot_count_;
  const uint32_t chunk_count_;
  const bool writers_wait_;
  const uint32_t most_idle_ms_;  // that one waits for a collector which gives nothing back
  wire::StreamSlot* slots_;
  uint8_t* chunks_;
  std::vector<std::unique_ptr<LogStream>> streams_;
  std::vector<LogStream*> unused_;
  // A wait was in vain when `chunks_returned` said this: until that changes nobody waits again.
  uint64_t gave_up_at_ = UINT64_MAX;
};

}  // namespace heaptap::log
