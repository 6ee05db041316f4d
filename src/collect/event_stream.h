// The seam between the target's side of a recording and the host's: events in order, the tables that they refer to, and
// what was lost. It has two forms: MappedStream reads a log's shared memory (mapped_stream.h), ReceivedStream what a
// RawStreamWriter made of one elsewhere (raw_stream.h). The same trace comes of both (trace_maker.h).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "log/log_reader.h"
#include "model/tables.h"

namespace heaptap::collect {

// The nodes of call stacks and the codes in them, by the numbers that events have; entries as wire/log.h has them. Asked
// once for each stack that is new, not for each event.
class AgentTables {
 public:
  AgentTables() = default;
  AgentTables(const AgentTables&) = delete;
  AgentTables& operator=(const AgentTables&) = delete;
  virtual ~AgentTables() = default;

  // Numbers from here on are of no node.
  [[nodiscard]] virtual uint32_t node_count() const = 0;
  // `number` is below node_count().
  [[nodiscard]] virtual uint64_t node(uint32_t number) const = 0;
  [[nodiscard]] virtual uint32_t code_count() const = 0;
  [[nodiscard]] virtual uint64_t code(uint32_t index) const = 0;
  // What the program calls what it allocates, by the number in a node (wire::is_label_code). None: there is none of that number.
  [[nodiscard]] virtual std::optional<model::Label> label(uint32_t number) const = 0;
};

// From clock ticks to nanoseconds since the start of the capture.
struct ClockScale {
  uint64_t start_ticks = 0;
  double ns_per_tick = 1;
  [[nodiscard]] uint64_t to_ns(uint64_t ticks) const {
    if (ticks <= start_ticks) return 0;
    constexpr double kMax = 1e19;  // a clock that was overwritten says anything
    return static_cast<uint64_t>(std::min(static_cast<double>(ticks - start_ticks) * ns_per_tick, kMax));
  }
  // 0: it isn't known.
  [[nodiscard]] uint64_t ticks_per_second() const {
    constexpr double kMax = 1e15;  // a sender says anything, too
    return ns_per_tick > 0 ? static_cast<uint64_t>(std::llround(std::min(1e9 / ns_per_tick, kMax))) : 0;
  }
};

// What holds of a stream after a drain.
struct StreamState {
  uint64_t start_ticks = 0;     // what its clock said when the capture began
  uint64_t ticks = 0;           // how far it came since,
  uint64_t elapsed_ns = 0;      // and how long that took
  uint64_t complete_until = 0;  // ticks: all events up to then were handed on, for all that is known
  uint64_t lost_events = 0;
  uint32_t gaps = 0;               // model::CaptureGap, as far as the target's side sees why
  bool may_repeat_stacks = false;  // two numbers may mean one stack
  bool has_unread = false;         // the drain left some, since it takes a bounded number
  bool is_empty = true;            // nothing is held that was not handed on

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

  // Appends the events that are next in order, a bounded number of them. `last`: nothing is written any more. Returns how
  // many bytes of records these were (a measure of how busy the target is).
  virtual uint64_t drain(log::RawEvents& events, bool last) = 0;
  // As of the last drain.
  [[nodiscard]] virtual StreamState state() const = 0;
  // So many bytes may be left at the end, at most; what goes on beyond that isn't the rest of anything.
  [[nodiscard]] virtual uint64_t most_bytes_left() const = 0;

  // Complete for the events that were handed on.
  [[nodiscard]] virtual const AgentTables& tables() const = 0;
  // Each appends what is new since the last call.
  virtual void take_modules(std::vector<model::Module>& modules) = 0;
  virtual void take_threads(std::vector<model::Thread>& threads) = 0;
  // That of a note among the events, by its number; once.
  virtual std::string take_text(uint32_t number) = 0;
};

}  // namespace heaptap::collect
