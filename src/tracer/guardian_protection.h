// What the guardian changes about itself: a target dies if its guardian does, so it leaves behind what ends other processes.
#pragma once
#include "base/result.h"

namespace heaptap::tracer {

// Of the calling process, before it forks. The error says why its guardian would be ended soon.
base::Result<> check_guardian();

// In the guardian: terminal, directory, standard streams, signals, limits, its place in the kernel's choice when memory runs out, and
// its name. `wake` is a signal that interrupts its waiting.
void protect_guardian(int wake);

// Whether a limit of processor time, which it can't raise, is about to end it.
bool is_out_of_time();

}  // namespace heaptap::tracer
