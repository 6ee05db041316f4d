#include "capture/tracer/next_stop.h"

#include <sys/wait.h>

#include <cerrno>

namespace heaptap::tracer {
namespace {

std::optional<ThreadNews> take_next() {
  int status = 0;
  const pid_t thread = waitpid(-1, &status, __WALL);
  return thread > 0 ? std::optional(ThreadNews{.thread = thread, .status = base::WaitStatus(status)}) : std::nullopt;
}

}  // namespace

std::optional<ThreadNews> wait_for_news() {
  siginfo_t news{};
  if (waitid(P_ALL, 0, &news, WEXITED | WSTOPPED | __WALL | WNOWAIT) != 0) {
    return errno == EINVAL ? take_next() : std::nullopt;  // before 4.7 waitid knows no __WALL
  }
  if (news.si_code == CLD_TRAPPED || news.si_code == CLD_STOPPED) {
    return ThreadNews{.thread = news.si_pid, .status = base::WaitStatus::of_stop(news.si_status)};
  }
  const auto status = base::wait_for(news.si_pid, __WALL);
  return status ? std::optional(ThreadNews{.thread = news.si_pid, .status = *status}) : std::nullopt;
}

std::optional<base::WaitStatus> take_stop(const ThreadNews& told) {
  const auto status = base::wait_for(told.thread, __WALL | WNOHANG);
  return status && *status != told.status ? status : std::nullopt;
}

}  // namespace heaptap::tracer
