#include "agent/core/clock.h"

namespace heaptap::agent {

namespace {

void raise_coarse_clock(uint64_t least) {
  wire::Atomic64& clock = g_session.log->coarse_clock;
  for (uint64_t now = clock.load(std::memory_order_relaxed); now < least;) {
    if (clock.compare_exchange_weak(now, least, std::memory_order_seq_cst)) break;
  }
}

}  // namespace

void outdate_readings() {
  if (!g_session.counts_time) raise_coarse_clock(arch::native::read_clock_in_order());
}

// Other threads may read the processor's clock until they see this: later counts are greater than those readings.
void forbid_clock() {
  constexpr uint64_t kUntilSeen = 1'000'000;  // ticks
  Session& session = g_session;
  if (session.counts_time) return;
  if (session.log != nullptr) raise_coarse_clock(arch::native::read_clock_in_order() + kUntilSeen);
  session.counts_time = true;
}

}  // namespace heaptap::agent
