#include "capture/process/process_watch.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "capture/process/process_status.h"
#include "capture/process/stat_line.h"

namespace heaptap::process {

namespace {

// <linux/pidfd.h> of Linux 6.13; with how the process has ended, once its parent knows, from 6.15 on.
struct PidfdInfo {
  uint64_t mask;
  uint64_t control_group;
  uint32_t ids[11];
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kGetInfo = _IOWR(0xff, 11, PidfdInfo);
constexpr uint64_t kExitInfo = uint64_t{1} << 3;

std::optional<base::WaitStatus> status_by_descriptor(int descriptor) {
  PidfdInfo info{.mask = kExitInfo, .control_group = 0, .ids = {}, .exit_code = 0};
  if (ioctl(descriptor, kGetInfo, &info) != 0 || (info.mask & kExitInfo) == 0) return std::nullopt;
  if (info.exit_code == 0) return std::nullopt;  // it is the first thread's, which may have ended before the process
  return base::WaitStatus(info.exit_code);
}

}  // namespace

ProcessWatch::ProcessWatch(pid_t process)
    : process_(process),
      descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))),
      was_gone_(!descriptor_ && errno == ESRCH),
      started_(read_start_time(process)) {}

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

std::optional<base::WaitStatus> ProcessWatch::end_status() const {
  const StatLine line = StatLine::of(process_);
  if (line.text(StatLine::kState) == "Z" && line.number(StatLine::kStartTime) == started_) {
    const auto code = line.number(StatLine::kExitCode);
    if (code && *code != 0) return base::WaitStatus(static_cast<int>(*code));
  }
  return descriptor_ ? status_by_descriptor(descriptor_.get()) : std::nullopt;
}

}  // namespace heaptap::process
