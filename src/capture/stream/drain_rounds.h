// Bounded draining of a log by its consumers: up to now, or to its end. Bounded whatever the log contains: it is
// another process's memory.
#pragma once
#include <cstdint>

#include "capture/stream/event_stream.h"

namespace heaptap::stream {

// Drains what is present, in bounded steps, as the target may be faster. `take()` processes the next part and returns
// its number of record bytes; repeated while `goes_on()`.
template <typename Take, typename GoesOn>
void take_what_is_there(const EventStream& stream, Take take, GoesOn goes_on) {
  constexpr unsigned kMaxDrains = 64;
  // Events in the log become known to be in order only with the drain after the one that read them.
  constexpr unsigned kIdleRounds = 3;
  unsigned idle_rounds = 0;
  for (unsigned round = 0; round < kMaxDrains && idle_rounds < kIdleRounds && goes_on(); ++round) {
    idle_rounds = take() == 0 ? idle_rounds + 1 : 0;
    if (idle_rounds > 0 && stream.state().is_empty) break;
  }
}

// Drains everything of a process that is gone or stopped. `drain()`: one drain with `last`.
template <typename Drain>
void take_to_the_end(const EventStream& stream, Drain drain) {
  const uint64_t max_bytes = stream.max_bytes_left();
  const uint64_t max_rounds = max_bytes / sizeof(wire::Record);
  uint64_t bytes = 0;
  for (uint64_t round = 0; bytes <= max_bytes && round < max_rounds; ++round) {
    const uint64_t read = drain();
    bytes += read;
    if (read == 0 && stream.state().is_empty) break;
  }
}

}  // namespace heaptap::stream
