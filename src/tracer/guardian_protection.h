// What the guardian changes about itself: a target dies if its guardian does, so it leaves behind what ends other processes.
#pragma once
#include <string>

namespace heaptap::tracer {

// Of the calling process, before it forks: why its guardian would be ended soon. Empty: it wouldn't.
std::string why_no_guardian();

// In the guardian: terminal, folder, standard streams, signals, limits, its place in the kernel's choice when memory runs out, and
// its name. `wake` is a signal that interrupts its waiting.
void protect_guardian(int wake);

// Whether a limit of processor time, which it can't raise, is about to end it.
bool is_out_of_time();

}  // namespace heaptap::tracer
