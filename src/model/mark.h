// A moment of a recording that was named while it went on, or at which recording was switched off or on.
#pragma once
#include <cstdint>
#include <string>

#include "model/event.h"

namespace heaptap::model {

enum class MarkKind : uint8_t {
  kNamed = 0,    // by a user, the program, a clock
  kStopped = 1,  // from here on nothing is recorded,
  kStarted = 2,  // and from here on it is again
  kReset = 3,    // a user counts from here on
  kEarlier = 4,  // of whatever kind: set while the process ran another program, before this one was executed
};

struct Mark {
  uint32_t number = 0;  // 1, 2, … in order, through all programs that the process executes
  MarkKind kind = MarkKind::kNamed;
  std::string name;
  uint64_t time_ns = 0;        // since the start of the capture
  uint64_t events_before = 0;  // events of the trace that came before it
  ThreadId thread = 0;         // that set it; 0: none, it was set from outside
  bool operator==(const Mark&) const = default;
};

// What the program calls one of its blocks.
struct BlockName {
  BlockNumber block = 0;
  std::string name;
};

}  // namespace heaptap::model
