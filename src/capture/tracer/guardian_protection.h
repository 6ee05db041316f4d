// Self-protection of the guardian: a target dies with its guardian, so the guardian drops everything that commonly ends processes.
#pragma once
#include <sys/types.h>

#include "common/base/result.h"

namespace heaptap::tracer {

// For the calling process, before it forks. The error says why its guardian would be ended soon.
base::Result<> check_guardian();

// In the guardian: terminal, directory, standard streams, signals, limits, OOM score, and name. `wake` is a signal that
// interrupts its waiting.
void protect_guardian(int wake);

// Whether its fixed limit of processor time is about to end it.
bool is_out_of_time();

// Whether this is a guardian, or a step of one, whose heaptap has ended: it leaves what it records, and ends.
bool is_left_alone(pid_t guardian);

}  // namespace heaptap::tracer
