// Processor affinity of the tracer: it follows the thread that it traces, since a stop costs several times as much if
// another processor has to be woken.
#pragma once
#include "capture/tracer/tracee.h"

namespace heaptap::tracer {

class TracerAffinity {
 public:
  // Call at each breakpoint stop.
  void follow(const Tracee& thread);

 private:
  void move_to(int processor);

  unsigned stops_ = 0;
  pid_t last_ = 0;
  int processor_ = -1;
};

}  // namespace heaptap::tracer
