// Next stop of any traced thread. It is looked at and stays untaken, so that the kernel still delivers its signal if the tracer is killed:
// a thread at a breakpoint then ends by its trap, in place of continuing in the middle of an instruction. Taken by waitpid, the signal would
// be forgotten.
#pragma once
#include <sys/types.h>

#include <optional>

#include "common/base/wait_status.h"

namespace heaptap::tracer {

struct ThreadNews {
  pid_t thread = 0;
  base::WaitStatus status;
};

// Waits for the next stop or end of a child or traced thread; ends are taken. An untaken stop is told again until the thread is resumed.
// None: interrupted (EINTR), or nobody to wait for (ECHILD). Kernels before 4.7 take stops as well.
std::optional<ThreadNews> wait_for_news();

// Takes the stop of a thread that stays stopped. What has happened to it since, if anything: it was killed.
std::optional<base::WaitStatus> take_stop(const ThreadNews& told);

}  // namespace heaptap::tracer
