#include "capture/process/process_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "capture/process/process_status.h"

namespace heaptap::process {

ProcessWatch::ProcessWatch(pid_t process)
    : process_(process), descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {
  was_gone_ = !descriptor_ && errno == ESRCH;
  if (!descriptor_) started_ = read_start_time(process);
}

bool ProcessWatch::has_ended() const {
  if (descriptor_) {
    pollfd news{descriptor_.get(), POLLIN, 0};
    return poll(&news, 1, 0) > 0;
  }
  if (was_gone_ || (kill(process_, 0) != 0 && errno == ESRCH)) return true;
  if (started_ == 0) return false;
  // An unreaped process keeps its number after its end.
  return read_start_time(process_) != started_ || find_live_thread(process_) == 0;
}

}  // namespace heaptap::process
