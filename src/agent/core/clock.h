// Clock of events (docs/decisions/0028): the processor's, or the log's own counter where the former can't be trusted or read.
// Each event increments the counter. Three readings, by their required order with the thread's other loads and stores.
#pragma once
#include <stdint.h>

#include "agent/core/session.h"
#include "common/arch/native.h"

namespace heaptap::agent {

// Later than every time counted before, in any thread; ordered with all loads and stores.
inline uint64_t count_time() { return g_session.log->coarse_clock.fetch_add(1, std::memory_order_seq_cst) + 1; }

// Unordered reading for a single-threaded process: no order with the accesses of other threads.
inline __attribute__((always_inline)) uint64_t read_time() {
  return !g_session.counts_time ? arch::native::read_clock() : count_time();
}

// Ordered after all earlier loads of the thread, so later than what other threads did before they published those
// values, and before what this thread publishes afterwards.
inline uint64_t read_time_behind() { return !g_session.counts_time ? arch::native::read_clock_behind() : count_time(); }

// As above, and also ordered before all later loads.
inline uint64_t read_time_in_order() {
  return !g_session.counts_time ? arch::native::read_clock_in_order() : count_time();
}

// Invalidates all readings that threads have cached.
void outdate_readings();

// From now on the processor's clock isn't read: it would kill the program.
void forbid_clock();

}  // namespace heaptap::agent
