#include "agent/core/clock.h"

namespace heaptap::agent {

// Other threads may read the processor's clock until they see it: what is counted from here on is later than that.
void forbid_clock() {
  constexpr uint64_t kUntilSeen = 1'000'000;  // ticks
  Session& session = g_session;
  if (session.counts_time) return;
  if (session.log != nullptr) {
    std::atomic<uint64_t>& clock = session.log->coarse_clock;
    const uint64_t least = arch::native::read_clock_in_order() + kUntilSeen;
    for (uint64_t now = clock.load(std::memory_order_relaxed); now < least;) {
      if (clock.compare_exchange_weak(now, least, std::memory_order_seq_cst)) break;
    }
  }
  session.counts_time = true;
}

}  // namespace heaptap::agent
