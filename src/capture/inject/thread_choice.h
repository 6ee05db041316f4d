// Choice of the thread that makes system calls for the injector.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <set>

namespace heaptap::inject {

// The one that is disturbed least, none of the `unfit`; waits for one this long. 0: all wait in calls that a stop would change.
pid_t wait_for_thread(pid_t process, std::chrono::milliseconds patience, const std::set<pid_t>& unfit = {});

}  // namespace heaptap::inject
