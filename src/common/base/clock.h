// Readings of the system's clocks.
#pragma once
#include <time.h>

#include <cstdint>

namespace heaptap::base {

// Nanoseconds of this clock: CLOCK_MONOTONIC, CLOCK_REALTIME, …
inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace heaptap::base
