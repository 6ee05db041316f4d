#include "capture/launch/process_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "capture/launch/sanitizer_check.h"
#include "capture/process/freezer.h"
#include "capture/process/process_status.h"
#include "capture/process/ptrace_refusal.h"
#include "capture/process/stat_line.h"
#include "capture/tracer/guardian_protection.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::launch {
namespace {

// The kernel's own.
bool is_kernel_thread(pid_t process) {
  constexpr uint64_t kPfKthread = 0x00200000;
  return (process::StatLine::of(process).number(process::StatLine::kFlags).value_or(0) & kPfKthread) != 0;
}

// Opening this file makes the same check as attaching.
base::Result<> check_access(pid_t process, pid_t live_thread) {
  const base::UniqueFd file(open(base::process_file(live_thread, "mem").c_str(), O_RDONLY | O_CLOEXEC));
  if (file) return {};
  if (errno == EACCES || errno == EPERM) return std::unexpected(process::ptrace_refusal(process, live_thread, errno));
  return {};  // other reasons are found by attaching
}

// Of a heaptap that was killed, what it has left leaves soon.
void wait_for_guardian(pid_t process) {
  constexpr int kTries = 200;
  constexpr useconds_t kBetweenUs = 10'000;
  for (int i = 0; i < kTries; ++i) {
    const auto status = process::read_thread_status(process);
    if (!status || status->tracer == 0 || !tracer::is_left_alone(status->tracer)) return;
    usleep(kBetweenUs);
  }
}

base::Result<> check_process(pid_t process) {
  wait_for_guardian(process);
  const auto status = process::read_thread_status(process);
  if (!status) return base::fail("no process {}: `pgrep -n NAME` finds a program's PID", process);
  if (status->process != process) {
    return base::fail("{} is a thread of process {}: attach to {} instead", process, status->process, status->process);
  }
  if (process == getpid()) return base::fail("process {} is heaptap itself", process);
  if (is_kernel_thread(process)) {
    return base::fail("process {} ({}) is a kernel thread: no program to record", process,
                      base::name_of_process(process));
  }
  const pid_t live_thread = process::find_live_thread(process);
  if (live_thread == 0) {
    return base::fail("process {} ({}) has ended already; it is a zombie until its parent waits for it", process,
                      base::name_of_process(process));
  }
  if (status->tracer != 0) return std::unexpected(process::ptrace_refusal(process, process, EPERM));
  HEAPTAP_TRY(check_access(process, live_thread));
  if (process::is_frozen(process)) {
    return base::fail(
        "process {} ({}) is frozen (its control group is, or its container is paused): heaptap would wait until it is "
        "thawed; do that first",
        process, base::name_of_process(process));
  }
  return check_sanitizer(live_thread);
}

}  // namespace

base::Result<> check_processes(const std::vector<pid_t>& processes) {
  for (const pid_t process : processes) HEAPTAP_TRY(check_process(process));
  return {};
}

}  // namespace heaptap::launch
