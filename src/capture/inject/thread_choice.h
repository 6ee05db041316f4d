// Choice of the thread that makes system calls for the injector, by where threads are.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <set>

#include "capture/inject/thread_verdict.h"

namespace heaptap::inject {

// As the kernel tells it now.
ThreadPlace read_thread_place(pid_t thread);

// The one that is disturbed least, none of the `unfit`; waits for one this long. 0: all wait in calls that a stop would change.
pid_t wait_for_thread(pid_t process, std::chrono::milliseconds patience, const std::set<pid_t>& unfit = {});

}  // namespace heaptap::inject
