// Where the tracer runs: on the processor of the thread that it traces, since a stop costs several times as much when it has
// to wake another processor.
#pragma once
#include "tracer/tracee.h"

namespace heaptap::tracer {

class TracerAffinity {
 public:
  // To be called at each stop at a breakpoint.
  void follow(const Tracee& thread);

 private:
  void move_to(int processor);

  unsigned stops_ = 0;
  pid_t last_ = 0;
  int processor_ = -1;
};

}  // namespace heaptap::tracer
