// The time of events (docs/decisions/0028): the processor's clock or, where that can't be trusted or read, the log's own, which
// each event counts up. Three readings, by what has to be true of their order with the thread's other loads and stores.
#pragma once
#include <stdint.h>

#include "agent/core/session.h"
#include "arch/native.h"

namespace heaptap::agent {

// Later than each time that was counted before, in any thread; ordered with all loads and stores.
inline uint64_t count_time() { return g_session.log->coarse_clock.fetch_add(1, std::memory_order_seq_cst) + 1; }

// For a thread that is alone: nothing is said of the order with what others did.
inline __attribute__((always_inline)) uint64_t read_time() {
  return !g_session.counts_time ? arch::native::read_clock() : count_time();
}

// Not before the thread had the value of all that it loaded until now, so later than what others did before they handed that
// over. And before whatever it hands over then.
inline uint64_t read_time_behind() { return !g_session.counts_time ? arch::native::read_clock_behind() : count_time(); }

// As the one above, and before all that is loaded then.
inline uint64_t read_time_in_order() {
  return !g_session.counts_time ? arch::native::read_clock_in_order() : count_time();
}

// From here on no thread goes on with a reading that it made before.
void outdate_readings();

// From now on reading the processor's clock would kill the program.
void forbid_clock();

}  // namespace heaptap::agent
