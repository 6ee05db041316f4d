// Allocation of a log's slots and chunks to its writers, and the wait where none is free. Freestanding. Used by the
// agent, the tracer and tests, each over its own view of a log (WritableLog). Lock-free for any number of threads; the
// collector at the other end gives slots and chunks back (capture/log/log_reader.cc).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <concepts>

#include "common/wire/log.h"
#include "common/wire/log_stream.h"

namespace heaptap::wire {

// Log and execution environment of its writers. `layout` is a copy that can't be changed through the log's memory.
template <typename Log>
concept WritableLog = requires(Log& log, std::atomic<uint32_t>& word, uint32_t number) {
  { log.header() } -> std::same_as<LogHeader&>;
  { log.layout() } -> std::convertible_to<const LogLayout&>;
  { log.slot(number) } -> std::same_as<StreamSlot&>;
  { log.chunk(number) } -> std::same_as<ChunkHeader&>;
  // Whether the chunk is mapped here, or usable and has been mapped now.
  { log.gets_chunk(number) } -> std::same_as<bool>;
  // Clock reading ordered after all earlier and before all later loads.
  { log.time_in_order() } -> std::same_as<uint64_t>;
  // Whether the thread may make system calls now; the next two are called only then.
  { log.may_call() } -> std::same_as<bool>;
  // Waits until the word differs from `number`, for a wake-up, or for so many milliseconds. False: interrupted by a signal.
  { log.wait(word, number, number) } -> std::same_as<bool>;
  { log.wake(word) };  // all waiters
  { log.relax() };     // pauses briefly, without a system call
};

// Stack of free chunks in the log's memory, each linked to the next. Its head has a tag that each change increments: a
// link read while another thread takes and returns the chunk is discarded.
inline void push_free_chunk(LogHeader& log, ChunkHeader& chunk, uint32_t index) {
  uint64_t head = log.free_chunks.load(std::memory_order_relaxed);
  do {
    chunk.free_link.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
  } while (!log.free_chunks.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | index, std::memory_order_acq_rel));
}

// kNoChunk: none is free, or the chunk can't be mapped here. One that the collector took out of the log and gave back may never have been
// used.
template <WritableLog Log>
uint32_t pop_free_chunk(Log& log) {
  Atomic64& free = log.header().free_chunks;
  uint64_t head = free.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(head) != kNoChunk && log.gets_chunk(static_cast<uint32_t>(head))) {
    const auto index = static_cast<uint32_t>(head);
    const uint64_t next = log.chunk(index).free_link.load(std::memory_order_relaxed) | ((head >> 32) + 1) << 32;
    if (free.compare_exchange_weak(head, next, std::memory_order_acq_rel)) return index;
  }
  return kNoChunk;
}

// Bounded wait for the collector to return something. Counts waits that timed out, since the clock may be forbidden. A
// wait interrupted by a signal counts little, and later waits are short, so that no timer of the program makes the wait
// endless.
template <WritableLog Log>
class WaitForRoom {
 public:
  explicit WaitForRoom(Log& log) : log_(log), returned_(load()) {}

  [[nodiscard]] uint32_t returned() const { return returned_; }

  // Waits briefly, or until something was returned. False: nothing was returned for too long.
  bool goes_on() {
    if (!log_.may_call()) return looks_again();
    const bool was_cut_short = !log_.wait(log_.header().chunks_returned, returned_, slice_ms_);
    if (is_news()) {
      idle_us_ = 0;
    } else {
      constexpr uint32_t kCutShortUs = 50;
      idle_us_ += was_cut_short ? kCutShortUs : slice_ms_ * 1000;
    }
    if (was_cut_short) slice_ms_ = 1;
    return idle_us_ < log_.layout().overflow_wait_ms * 1000;
  }

 private:
  [[nodiscard]] uint32_t load() { return log_.header().chunks_returned.load(std::memory_order_acquire); }
  bool is_news() {
    const uint32_t before = returned_;
    returned_ = load();
    return returned_ != before;
  }
  // Where system calls are not permitted: spins for some milliseconds in total, whatever is returned in between, at the program's cost.
  bool looks_again() {
    constexpr uint32_t kMaxLooks = 100'000;  // of 40 to 140 processor cycles each
    while (looks_++ < kMaxLooks) {
      if (is_news()) return true;
      log_.relax();
    }
    return false;
  }

  Log& log_;
  uint32_t returned_;
  uint32_t slice_ms_ = 10;
  uint32_t idle_us_ = 0;
  uint32_t looks_ = 0;
};

struct StreamThread {
  uint32_t id;      // the kernel's
  uint32_t number;  // see LogStreams::next_thread_number(); 0: the next one
};

template <WritableLog Log>
class LogStreams {
 public:
  template <typename... Arguments>
  constexpr explicit LogStreams(Arguments&&... arguments) : log_(static_cast<Arguments&&>(arguments)...) {}

  [[nodiscard]] Log& log() { return log_; }

  // With another log, in a forked child.
  void restart() { in_vain_.store(0, std::memory_order_relaxed); }

  [[nodiscard]] uint32_t next_thread_number() {
    return log_.header().thread_count.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  // Claims a slot for a stream. Null: none became free in time.
  StreamSlot* claim_slot() {
    return claim<StreamSlot*>(nullptr, [this] { return try_slot(); });
  }

  // Begins a stream in a slot of its own, for times from `earliest` on (0: from now on). It is within a record then
  // (begin_activity). False: no chunk or slot became free in time; `stream` is as it was.
  //
  // The chunk comes first: while the log is full, each event of a thread without a stream is an attempt. Slots that threads
  // take at the same moment and give back would become more and more, and all of their table the program's memory.
  bool begin(LogStream& stream, StreamThread thread, uint64_t earliest) {
    uint32_t index = claim_chunk();
    if (index == kNoChunk) return false;
    StreamSlot* const slot = slot_beside(index);
    if (slot == nullptr) return false;
    stream.slot = slot;
    begin_activity(*slot);
    slot->thread_id = thread.id;
    slot->thread_number = thread.number != 0 ? thread.number : next_thread_number();
    begin_chunk(stream, index, earliest);
    slot->first_chunk = index;
    slot->lost_events.store(0, std::memory_order_relaxed);
    slot->calls.reset();
    slot->started_at.store(stream.base_time, std::memory_order_relaxed);
    set_state(*slot, StreamState::kActive);
    return true;
  }

  // Continues in another chunk, within a record. False: none became free in time; the event is lost and counted.
  bool next_chunk(LogStream& stream, uint64_t earliest) {
    end_activity(*stream.slot);  // the collector doesn't wait for a thread that waits
    const uint32_t index = claim_chunk();
    begin_activity(*stream.slot);
    if (index == kNoChunk) {
      stream.slot->lost_events.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    ChunkHeader* const before = stream.chunk;
    begin_chunk(stream, index, earliest);
    before->next.store(index + 1, std::memory_order_release);  // pairs with the collector's acquire
    return true;
  }

  // Ends the stream; the collector then frees its slot and chunks.
  static void end(LogStream& stream) { set_state(*stream.slot, StreamState::kEnded); }
  // Frees a claimed slot whose stream was never begun.
  static void set_free(StreamSlot& slot) { set_state(slot, StreamState::kFree); }

 private:
  static void set_state(StreamSlot& slot, StreamState state) {
    slot.state.store(static_cast<uint32_t>(state), std::memory_order_release);  // pairs with the collector's acquire
  }

  StreamSlot* try_slot() {
    LogHeader& header = log_.header();
    const uint32_t count = log_.layout().slot_count;
    uint32_t hint = header.free_slot_hint.load(std::memory_order_relaxed);
    const uint32_t start = hint % count;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t index = start + i < count ? start + i : start + i - count;
      StreamSlot& slot = log_.slot(index);
      auto free = static_cast<uint32_t>(StreamState::kFree);
      if (slot.state.load(std::memory_order_relaxed) != free ||
          !slot.state.compare_exchange_strong(free, static_cast<uint32_t>(StreamState::kClaimed),
                                              std::memory_order_acq_rel)) {
        continue;
      }
      // Not over the hint of a slot that was given back in the meantime.
      header.free_slot_hint.compare_exchange_strong(hint, index + 1, std::memory_order_relaxed);
      uint32_t used = header.slots_used.load(std::memory_order_relaxed);
      while (used <= index && !header.slots_used.compare_exchange_weak(used, index + 1, std::memory_order_acq_rel)) {
      }
      return &slot;
    }
    return nullptr;
  }

  // Takes a chunk that was never used.
  uint32_t take_fresh_chunk() {
    std::atomic<uint32_t>& begin = log_.header().fresh_chunks;
    uint32_t fresh = begin.load(std::memory_order_relaxed);
    while (fresh < log_.header().usable_chunks.load(std::memory_order_acquire) && log_.gets_chunk(fresh)) {
      if (begin.compare_exchange_weak(fresh, fresh + 1, std::memory_order_relaxed)) return fresh;
    }
    return kNoChunk;
  }

  uint32_t try_chunk() {
    const uint32_t returned = pop_free_chunk(log_);
    return returned != kNoChunk ? returned : take_fresh_chunk();
  }

  uint32_t claim_chunk() {
    const uint32_t index = claim(kNoChunk, [this] { return try_chunk(); });
    if (index != kNoChunk) note_use();
    return index;
  }

  // A slot for a stream that has a chunk, which isn't held while it is waited for one. Null: there is none, or no chunk any more, and
  // neither is held.
  StreamSlot* slot_beside(uint32_t& chunk) {
    if (StreamSlot* const slot = try_slot(); slot != nullptr) return slot;
    push_free_chunk(log_.header(), log_.chunk(chunk), chunk);  // who waits for one looks again soon
    log_.header().used_chunks.fetch_sub(1, std::memory_order_relaxed);
    StreamSlot* const slot = claim_slot();
    if (slot == nullptr) return nullptr;
    chunk = try_chunk();
    if (chunk != kNoChunk) {
      note_use();
      return slot;
    }
    set_free(*slot);
    return nullptr;
  }

  // Wakes an idle collector, once, as the log fills.
  void note_use() {
    LogHeader& header = log_.header();
    const uint32_t used = header.used_chunks.fetch_add(1, std::memory_order_relaxed) + 1;
    if (used < header.wake_threshold.load(std::memory_order_relaxed) || !log_.may_call()) [[likely]]
      return;
    if (header.wake_threshold.exchange(kNeverWake, std::memory_order_relaxed) == kNeverWake) return;
    header.rings.fetch_add(1, std::memory_order_release);
    log_.wake(header.rings);
  }

  void begin_chunk(LogStream& stream, uint32_t index, uint64_t earliest) {
    ChunkHeader* const chunk = &log_.chunk(index);
    chunk->next.store(0, std::memory_order_relaxed);
    // In order: this replaces older shared readings, and must precede the check of the place's owner.
    stream.base_time = chunk->base_time = earliest != 0 ? earliest : log_.time_in_order();
    chunk->committed.store(sizeof(ChunkHeader), std::memory_order_release);
    stream.chunk = chunk;
    stream.cursor = reinterpret_cast<uint8_t*>(chunk + 1);
    stream.end = reinterpret_cast<uint8_t*>(chunk) + kChunkBytes;
  }

  // Repeats `attempt` while it returns `nothing`, the policy is to wait, and the collector makes progress. Once a wait
  // was in vain, others give up at once until the collector has returned something.
  template <typename T, typename Attempt>
  T claim(T nothing, const Attempt& attempt) {
    T claimed = attempt();
    if (claimed != nothing || log_.layout().overflow_policy != OverflowPolicy::kWait) return claimed;
    WaitForRoom<Log> wait(log_);
    if (in_vain_.load(std::memory_order_relaxed) == ~wait.returned()) return claimed;
    // Includes what was returned before the wait began.
    for (claimed = attempt(); claimed == nothing; claimed = attempt()) {
      if (!wait.goes_on()) break;
    }
    if (claimed == nothing) {
      in_vain_.store(~wait.returned(), std::memory_order_relaxed);
      log_.header().waits_in_vain.fetch_add(1, std::memory_order_relaxed);
    }
    return claimed;
  }

  [[no_unique_address]] Log log_;
  // Complement of `chunks_returned` at the last wait in vain. 0: none was; zero-initialized, it takes no room in the agent's file.
  std::atomic<uint32_t> in_vain_{0};
};

}  // namespace heaptap::wire
