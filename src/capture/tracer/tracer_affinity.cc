#include "capture/tracer/tracer_affinity.h"

#include <sched.h>

namespace heaptap::tracer {

void TracerAffinity::follow(const Tracee& thread) {
  constexpr unsigned kStopsBetweenLooks = 256;
  if (thread.id() != last_) {
    last_ = thread.id();
    stops_ = 0;
  }
  // Follows a new thread after its first stops, then now and again: it may have migrated.
  ++stops_;
  if (stops_ == 8 || stops_ % kStopsBetweenLooks == 0) move_to(thread.last_processor());
}

void TracerAffinity::move_to(int processor) {
  if (processor < 0 || processor == processor_ || processor >= CPU_SETSIZE) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<unsigned>(processor), &only);
  if (sched_setaffinity(0, sizeof(only), &only) == 0) processor_ = processor;
}

}  // namespace heaptap::tracer
