#include "capture/launch/process_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "capture/launch/sanitizer_check.h"
#include "capture/process/freezer.h"
#include "capture/process/process_status.h"
#include "capture/process/stat_line.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/base/user_accounts.h"

namespace heaptap::launch {
namespace {

std::string read_file(const std::string& path) {
  std::string text = base::read_small_file(path, 4096);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The kernel's own.
bool is_kernel_thread(pid_t process) {
  constexpr uint64_t kPfKthread = 0x00200000;
  return (process::StatLine::of(process).number(process::StatLine::kFlags).value_or(0) & kPfKthread) != 0;
}

// As /etc/passwd has it: a static program has no other name service.
std::string user_name(uid_t user) {
  const std::string passwd = base::read_small_file("/etc/passwd");
  const auto found = base::find_user(passwd, user);
  return found ? std::string(found->name) : std::to_string(user);
}

base::Result<> explain_denial(pid_t process, int reason) {
  struct stat facts{};
  const bool is_known = stat(fmt::format("/proc/{}", process).c_str(), &facts) == 0;
  if (is_known && geteuid() != 0 && facts.st_uid != geteuid()) {
    return base::fail("can't attach to process {} ({}): it belongs to {}, and you are {}; run heaptap with sudo",
                      process, base::name_of_process(process), user_name(facts.st_uid), user_name(geteuid()));
  }
  const int scope = std::atoi(read_file("/proc/sys/kernel/yama/ptrace_scope").c_str());
  if (scope == 3) {
    return base::fail(
        "can't attach to process {}: kernel.yama.ptrace_scope is 3, which forbids tracing until the next boot; "
        "set another value in /etc/sysctl.d and reboot",
        process);
  }
  if (scope == 1 || scope == 2) {
    return base::fail(
        "can't attach to process {}: kernel.yama.ptrace_scope is {}, so only {} may; run heaptap with sudo{}", process,
        scope, scope == 1 ? "its ancestors and root" : "root",
        scope == 1 ? ", or allow it: sudo sysctl kernel.yama.ptrace_scope=0" : "");
  }
  return base::fail(
      "can't attach to process {} ({}): {}; it has privileges that heaptap doesn't have: run heaptap with sudo, in a "
      "container with --cap-add=SYS_PTRACE",
      process, base::name_of_process(process), base::reason_of(reason));
}

// Opening this file makes the same check as attaching.
base::Result<> check_access(pid_t process, pid_t live_thread) {
  const base::UniqueFd file(open(fmt::format("/proc/{}/mem", live_thread).c_str(), O_RDONLY | O_CLOEXEC));
  if (file) return {};
  if (errno == EACCES || errno == EPERM) return explain_denial(process, errno);
  return {};  // other reasons are found by attaching
}

base::Result<> check_process(pid_t process) {
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
  if (status->tracer != 0) {
    return base::fail(
        "can't attach to process {}: process {} ({}) traces it already, and a process can have one tracer only; stop "
        "that "
        "tracer first",
        process, status->tracer, base::name_of_process(status->tracer));
  }
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
