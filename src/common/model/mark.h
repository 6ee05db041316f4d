// Mark: a named moment of a recording, or one at which recording was switched off or on.
#pragma once
#include <cstdint>
#include <string>

#include "common/model/event.h"

namespace heaptap::model {

enum class MarkKind : uint8_t {
  kNamed = 0,    // by a user, the program, or a timer
  kStopped = 1,  // recording stopped
  kStarted = 2,  // recording continued
  kReset = 3,    // a user reset the counters
  kEarlier = 4,  // of any kind: set before this program was executed by the process
};

struct Mark {
  uint32_t number = 0;  // 1, 2, … in order, across all programs executed by the process
  MarkKind kind = MarkKind::kNamed;
  std::string name;
  uint64_t time_ns = 0;        // since the start of the capture
  uint64_t events_before = 0;  // number of events of the trace before it
  ThreadId thread = 0;         // that set it; 0: set from outside
  bool operator==(const Mark&) const = default;
};

// Name given to a block by the program.
struct BlockName {
  BlockNumber block = 0;
  std::string name;
};

}  // namespace heaptap::model
