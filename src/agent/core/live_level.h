// Live bytes and blocks of all threads of --aggregate, and their peak. A thread that is alone adds each of its events, and the peak is
// exact. With several, each keeps a small part of what it has to add to itself, so that it rarely writes what all of them write;
// the peak is wrong by the sum of these parts at most, and the log says how much that is.
#pragma once
#include <stdint.h>

#include "common/arch/native.h"
#include "common/wire/log.h"
#include "common/wire/totals.h"

namespace heaptap::agent {

class LiveLevel {
 public:
  static constexpr uint64_t kMaxPartBytes = 64u << 10;
  static constexpr uint64_t kMaxPartBlocks = 256;
  static constexpr uint32_t kFewEvents = 128;  // a thread that adds more often than this keeps more

  // What one thread (at one level) has not added yet. Lives in memory that is zero at first, and is handed on to other threads.
  struct Part {
    uint64_t bytes;  // may be negative
    uint64_t blocks;
    uint64_t max_bytes;  // of both signs; the log's peak error has its share of it
    uint64_t max_blocks;
    uint32_t events;  // since the last addition
    bool is_first;    // the thread is the process's first
  };

  void start(wire::LogHeader& log, wire::TotalsHeader& totals) {
    log_ = &log;
    totals_ = &totals;
  }

  // Called at a thread's first event. Adds what the part's former thread has left.
  void begin(Part& part, bool is_first) {
    add_part(part);
    part.is_first = is_first;
  }

  __attribute__((always_inline)) void allocate(Part& part, uint64_t size_bytes) {
    if (part.is_first && is_alone()) return rise_alone(size_bytes);
    add_shared(part, size_bytes, 1);
  }
  // `times`: 1, or all ones to undo one.
  __attribute__((always_inline)) void release(Part& part, uint64_t size_bytes, uint64_t times) {
    if (part.is_first && is_alone()) return add_alone(0 - size_bytes * times, 0 - times);
    add_shared(part, 0 - size_bytes * times, 0 - times);
  }

 private:
  [[nodiscard]] bool is_alone() const { return log_->thread_count.load(std::memory_order_relaxed) == 1; }

  void add_alone(uint64_t bytes, uint64_t blocks) {
    arch::native::add_own(totals_->live_alone.bytes, bytes);
    arch::native::add_own(totals_->live_alone.blocks, blocks);
  }
  void rise_alone(uint64_t size_bytes) {
    add_alone(size_bytes, 1);
    see(totals_->live.bytes.load(std::memory_order_relaxed), totals_->live.blocks.load(std::memory_order_relaxed));
  }

  __attribute__((always_inline)) void add_shared(Part& part, uint64_t bytes, uint64_t blocks) {
    part.bytes += bytes;
    part.blocks += blocks;
    ++part.events;
    if (part.bytes + part.max_bytes > 2 * part.max_bytes || part.blocks + part.max_blocks > 2 * part.max_blocks)
        [[unlikely]]
      settle(part);
  }

  __attribute__((noinline, cold)) void settle(Part& part) {
    const bool is_frequent = part.events < kFewEvents;
    const bool by_bytes = part.bytes + part.max_bytes > 2 * part.max_bytes;
    add_part(part);
    if (!is_frequent) return;
    if (by_bytes) {
      widen(part.max_bytes, kMaxPartBytes, totals_->peak_error_bytes);
    } else {
      widen(part.max_blocks, kMaxPartBlocks, totals_->peak_error_blocks);
    }
  }

  void add_part(Part& part) {
    const uint64_t bytes = totals_->live.bytes.fetch_add(part.bytes, std::memory_order_relaxed) + part.bytes;
    const uint64_t blocks = totals_->live.blocks.fetch_add(part.blocks, std::memory_order_relaxed) + part.blocks;
    part.bytes = part.blocks = part.events = 0;
    see(bytes, blocks);
  }

  // The log says so before it is true.
  static void widen(uint64_t& limit, uint64_t most, wire::Atomic64& error) {
    constexpr uint64_t kFirst = 16;
    const uint64_t wider = limit == 0 ? kFirst : limit * 2;
    if (wider > most) return;
    error.fetch_add(wider - limit, std::memory_order_relaxed);
    limit = wider;
  }

  // A level of the shared counters: the first thread's own no longer changes once there are others.
  void see(uint64_t bytes, uint64_t blocks) {
    raise(totals_->peak_bytes, bytes + totals_->live_alone.bytes.load(std::memory_order_relaxed));
    raise(totals_->peak_blocks, blocks + totals_->live_alone.blocks.load(std::memory_order_relaxed));
  }
  static void raise(wire::Atomic64& peak, uint64_t value) {
    uint64_t seen = peak.load(std::memory_order_relaxed);
    // A sum that lacks other threads' parts may be negative.
    while (static_cast<int64_t>(value) > static_cast<int64_t>(seen) &&
           !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }

  wire::LogHeader* log_ = nullptr;
  wire::TotalsHeader* totals_ = nullptr;
};

}  // namespace heaptap::agent
