// Choice of the thread that makes system calls for the injector.
#pragma once
#include <sys/types.h>

#include <chrono>

namespace heaptap::inject {

// The one that is disturbed least; waits for one this long. 0: all wait in calls that a stop would change.
pid_t wait_for_thread(pid_t process, std::chrono::milliseconds patience);

}  // namespace heaptap::inject
