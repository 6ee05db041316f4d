#include "capture/tracer/guardian_protection.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "capture/process/process_status.h"
#include "capture/process/stat_line.h"
#include "common/base/limit_rules.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::tracer {
namespace {

constexpr const char* kName = "htap-guardian";
volatile sig_atomic_t out_of_time = 0;

// Raises this process's own limits; the original ones are for the program, and for commands of the user.
void raise_limits() {
  rlimit before{};
  for (const base::LimitRule& rule : base::kOwnLimits) base::raise_limit(rule, before);
  base::raise_limit(base::kGuardiansLock, before);
  rlimit seconds{};
  if (getrlimit(RLIMIT_CPU, &seconds) != 0) return;
  const auto warning = base::limit_that_warns(seconds);
  if (!warning) return;
  setrlimit(RLIMIT_CPU, &*warning);
  struct sigaction action{};
  action.sa_handler = [](int) { out_of_time = 1; };
  sigaction(SIGXCPU, &action, nullptr);  // without SA_RESTART: it is to interrupt
}

// Signals that are never sent by mistake, and SIGCHLD, stay as they were.
void ignore_signals(int wake) {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    const bool tells_of_faults = number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
                                 number == SIGABRT || number == SIGTRAP || number == SIGSYS;
    if (!tells_of_faults && number != SIGCHLD) std::signal(number, SIG_IGN);
  }
  struct sigaction action{};
  action.sa_handler = [](int) {};
  sigaction(wake, &action, nullptr);  // without SA_RESTART: it is to interrupt
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The last one for the OOM killer, if permitted.
void be_spared() {
  constexpr const char* kPath = "/proc/self/oom_score_adj";
  const base::UniqueFd file(open(kPath, O_WRONLY | O_CLOEXEC));
  if (!file) return;
  for (const int adjustment : base::adjustments_for(std::atoi(base::read_small_file(kPath, 16).c_str()))) {
    const std::string text = std::to_string(adjustment);
    if (pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) break;
  }
}

// Readers of heaptap's output must not wait for this process.
void leave_standard_streams() {
  base::UniqueFd nothing(open("/dev/null", O_RDWR));
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing.get(), descriptor);
  if (nothing.get() <= STDERR_FILENO) nothing.release();  // it is one of them, which stay open
}

// Written over the arguments, which /proc/PID/cmdline shows.
void take_name() {
  prctl(PR_SET_NAME, kName);
  const auto stat = process::StatLine::of_own();
  const auto begin = static_cast<uintptr_t>(stat.number(process::StatLine::kArgumentsStart).value_or(0));
  const auto end = static_cast<uintptr_t>(stat.number(process::StatLine::kArgumentsEnd).value_or(0));
  if (begin == 0 || begin >= end) return;
  const std::span<char> arguments(reinterpret_cast<char*>(begin), end - begin);
  std::ranges::fill(arguments, '\0');
  const std::string_view name(kName);
  std::ranges::copy(name.substr(0, arguments.size() - 1), arguments.begin());
}

}  // namespace

base::Result<> check_guardian() {
  rlimit seconds{};
  const bool is_known = getrlimit(RLIMIT_CPU, &seconds) == 0;
  const bool may_go_beyond = base::may_go_beyond_limits(base::read_small_file("/proc/self/status", 8192));
  if (!is_known || base::is_time_enough(seconds, may_go_beyond)) return {};
  return base::fail(
      "it would be killed after {} s of CPU time, and the program with it: raise the limit (ulimit -t), or run heaptap "
      "as root",
      seconds.rlim_max);
}

void protect_guardian(int wake) {
  setsid();
  take_name();
  leave_standard_streams();
  [[maybe_unused]] const int changed = chdir("/");
  ignore_signals(wake);
  raise_limits();
  be_spared();
  // Threads that stop wait for this one.
  setpriority(PRIO_PROCESS, 0, -5);
}

bool is_out_of_time() { return out_of_time != 0; }

bool is_left_alone(pid_t guardian) {
  constexpr int kMaxSteps = 4;
  pid_t process = guardian;
  for (int i = 0; i < kMaxSteps && base::name_of_process(process) == kName; ++i) {
    const auto status = process::read_thread_status(process);
    if (!status) break;
    process = status->parent;
  }
  return process != guardian && !base::name_of_process(process).starts_with("heaptap");
}

}  // namespace heaptap::tracer
