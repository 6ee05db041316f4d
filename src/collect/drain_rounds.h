// How a log is drained by those who take what comes of it: as far as it goes now, or to its end. Both are bounded, whatever the log
// says of itself: it is another process's memory.
#pragma once
#include <cstdint>

#include "collect/event_stream.h"

namespace heaptap::collect {

// A bounded part of what is there, where the target is faster. `take()` takes the next part, and says how many bytes of records that
// was; as long as `goes_on()`.
template <typename Take, typename GoesOn>
void take_what_is_there(const EventStream& stream, Take take, GoesOn goes_on) {
  constexpr unsigned kMaxDrains = 64;
  // What is in the log becomes known to be next in order with the drain behind the one that saw it.
  constexpr unsigned kIdleRounds = 3;
  unsigned idle_rounds = 0;
  for (unsigned round = 0; round < kMaxDrains && idle_rounds < kIdleRounds && goes_on(); ++round) {
    idle_rounds = take() == 0 ? idle_rounds + 1 : 0;
    if (idle_rounds > 0 && stream.state().is_empty) break;
  }
}

// All of a process that is gone, or is stopped. `drain()`: one drain with `last`.
template <typename Drain>
void take_to_the_end(const EventStream& stream, Drain drain) {
  const uint64_t most_bytes = stream.most_bytes_left();
  const uint64_t most_rounds = most_bytes / sizeof(wire::Record);
  uint64_t bytes = 0;
  for (uint64_t round = 0; bytes <= most_bytes && round < most_rounds; ++round) {
    const uint64_t read = drain();
    bytes += read;
    if (read == 0 && stream.state().is_empty) break;
  }
}

}  // namespace heaptap::collect
