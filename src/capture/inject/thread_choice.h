// Choice of the thread that makes system calls for the injector.
#pragma once
#include <sys/types.h>

namespace heaptap::inject {

// The one that is disturbed least; waits for one for some seconds. 0: all wait in calls that a stop would change.
pid_t wait_for_thread(pid_t process);

}  // namespace heaptap::inject
