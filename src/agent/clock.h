// The time of events: the processor's clock, or what stands in for it where reading that isn't allowed (surroundings.cc).
#pragma once
#include <stdint.h>

#include "agent/session.h"
#include "arch/native.h"

namespace heaptap::agent {

inline __attribute__((always_inline)) uint64_t read_time() {
  if (!g_session.clock_forbidden) [[likely]]
    return arch::native::read_clock();
  return g_session.log->coarse_clock.load(std::memory_order_relaxed);
}

// Not before what the thread did until now, and before what it does then.
inline uint64_t read_time_in_order() {
  return g_session.clock_forbidden ? read_time() : arch::native::read_clock_in_order();
}

}  // namespace heaptap::agent
