// Event stream: interface between the target's and the host's side of a recording, with events in order, the tables
// they refer to, and losses. Two implementations: MappedStream reads a log's shared memory (mapped_stream.h),
// ReceivedStream the output of a remote RawStreamWriter (raw_stream.h). Both yield the same trace (trace_maker.h).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/log/log_reader.h"
#include "common/model/tables.h"

namespace heaptap::stream {

// Tables of stack nodes and codes, by the numbers in events; entries as in common/wire/log.h. Read once for each new stack,
// not for each event.
class AgentTables {
 public:
  AgentTables() = default;
  AgentTables(const AgentTables&) = delete;
  AgentTables& operator=(const AgentTables&) = delete;
  virtual ~AgentTables() = default;

  // Nodes from this number on don't exist.
  [[nodiscard]] virtual uint32_t node_count() const = 0;
  // `number` is below node_count().
  [[nodiscard]] virtual uint64_t node(uint32_t number) const = 0;
  [[nodiscard]] virtual uint32_t code_count() const = 0;
  [[nodiscard]] virtual uint64_t code(uint32_t index) const = 0;
  // Label by its number in a node (wire::is_label_code). None: no such label.
  [[nodiscard]] virtual std::optional<model::Label> label(uint32_t number) const = 0;
};

// Maximum delay of a release after an allocation that reused its block (in ticks; clock readings of two processors and
// the visibility of the related stores are much closer).
inline constexpr uint64_t kMaxDisorder = 50'000;

// Conversion from clock ticks to nanoseconds since the start of the capture.
struct ClockScale {
  uint64_t start_ticks = 0;
  double ns_per_tick = 1;
  [[nodiscard]] uint64_t to_ns(uint64_t ticks) const {
    if (ticks <= start_ticks) return 0;
    constexpr double kMax = 1e19;  // a corrupted clock may have any value
    return static_cast<uint64_t>(std::min(static_cast<double>(ticks - start_ticks) * ns_per_tick, kMax));
  }
  // 0: unknown.
  [[nodiscard]] uint64_t ticks_per_second() const {
    constexpr double kMax = 1e15;  // a sender may send any value, too
    return ns_per_tick > 0 ? static_cast<uint64_t>(std::llround(std::min(1e9 / ns_per_tick, kMax))) : 0;
  }
};

// State of a stream after a drain.
struct StreamState {
  uint64_t start_ticks = 0;     // clock at the start of the capture
  uint64_t ticks = 0;           // ticks since then,
  uint64_t elapsed_ns = 0;      // and the time they took
  uint64_t complete_until = 0;  // ticks: all events up to then were delivered, as far as is known
  uint64_t lost_events = 0;
  uint32_t gaps = 0;               // model::CaptureGap, as far as the target's side knows the cause
  bool may_repeat_stacks = false;  // two numbers may stand for one stack
  bool has_unread = false;         // the drain left some events, since it takes a bounded number
  bool is_empty = true;            // everything read was delivered

  [[nodiscard]] ClockScale scale() const {
    if (ticks == 0) return {start_ticks, 1};
    return {start_ticks, static_cast<double>(elapsed_ns) / static_cast<double>(ticks)};
  }
};

class EventStream {
 public:
  EventStream() = default;
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;
  virtual ~EventStream() = default;

  // Appends the next events in order, a bounded number. `last`: nothing is written any more. Returns the number of
  // bytes of their records (a measure of the target's activity).
  virtual uint64_t drain(log::RawEvents& events, bool last) = 0;
  // As of the last drain.
  [[nodiscard]] virtual StreamState state() const = 0;
  // Maximum bytes that may be left at the end; more can't be a regular remainder.
  [[nodiscard]] virtual uint64_t max_bytes_left() const = 0;

  // Complete for the delivered events.
  [[nodiscard]] virtual const AgentTables& tables() const = 0;
  // Each appends what is new since the last call.
  virtual void take_modules(std::vector<model::Module>& modules) = 0;
  virtual void take_threads(std::vector<model::Thread>& threads) = 0;
  // Text of a note among the events, by its number; once.
  virtual std::string take_text(uint32_t number) = 0;
};

}  // namespace heaptap::stream
