#include "target/tracer/guardian_surroundings.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "target/process_status.h"

namespace heaptap::tracer {
namespace {

constexpr const char* kName = "htap-guardian";
// With these it takes out its breakpoints and lets go of all.
constexpr rlim_t kSecondsToLetGo = 2;
constexpr rlim_t kFewestSeconds = 2 * kSecondsToLetGo;

volatile sig_atomic_t out_of_time = 0;

// CAP_SYS_RESOURCE, which root doesn't have everywhere.
bool may_raise_limits() {
  constexpr unsigned kResources = 24;
  constexpr std::string_view kField = "\nCapEff:\t";
  const std::string status = target::read_proc_file("/proc/self/status", 8192);
  const size_t at = status.find(kField);
  uint64_t capabilities = 0;
  if (at != std::string::npos) {
    std::from_chars(status.data() + at + kField.size(), status.data() + status.size(), capabilities, 16);
  }
  return (capabilities >> kResources & 1) != 0;
}

// What it started with is for the program, and for what a user runs by himself.
void raise_limits() {
  constexpr rlim_t kFiles =
      1 << 20;  // one for each process that is traced, and more where frames are described in files only
  for (const auto resource : {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_AS, RLIMIT_MEMLOCK, RLIMIT_NOFILE}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0) continue;
    const rlim_t most = resource == RLIMIT_NOFILE ? std::max(kFiles, limit.rlim_max) : RLIM_INFINITY;
    const rlimit none{most, most};
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &none) != 0) setrlimit(resource, &limit);
  }
  rlimit seconds{};
  if (getrlimit(RLIMIT_CPU, &seconds) != 0 || seconds.rlim_max == RLIM_INFINITY) return;
  seconds.rlim_cur = seconds.rlim_max - std::min(kSecondsToLetGo, seconds.rlim_max);
  setrlimit(RLIMIT_CPU, &seconds);
  struct sigaction action{};
  action.sa_handler = [](int) { out_of_time = 1; };
  sigaction(SIGXCPU, &action, nullptr);  // without SA_RESTART: it is to interrupt
}

// What nobody sends by mistake, and children's ends, stay as they were.
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

// The last to be ended when memory runs out, where that may be asked for.
void be_spared() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  constexpr std::string_view kNever = "-1000";
  [[maybe_unused]] const ssize_t written = write(file, kNever.data(), kNever.size());
  close(file);
}

// The 48th and 49th field of stat(5): where the arguments lie that /proc/PID/cmdline shows.
void take_name() {
  prctl(PR_SET_NAME, kName);
  const std::string stat = target::read_proc_file("/proc/self/stat", 4096);
  size_t at = stat.rfind(')');
  for (int field = 2; field < 48 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  if (at == std::string::npos) return;
  uint64_t begin = 0;
  uint64_t end = 0;
  const char* const last = stat.data() + stat.size();
  const auto first = std::from_chars(stat.data() + at + 1, last, begin);
  if (first.ec != std::errc{} || std::from_chars(first.ptr + 1, last, end).ec != std::errc{} || begin >= end) return;
  const std::span<char> arguments(reinterpret_cast<char*>(begin), end - begin);
  std::ranges::fill(arguments, '\0');
  const std::string_view name(kName);
  std::ranges::copy(name.substr(0, arguments.size() - 1), arguments.begin());
}

}  // namespace

std::string why_no_guardian() {
  rlimit seconds{};
  const bool is_known = getrlimit(RLIMIT_CPU, &seconds) == 0;
  if (!is_known || seconds.rlim_max >= kFewestSeconds || may_raise_limits()) return {};
  return "it would be ended after " + std::to_string(seconds.rlim_max) +
         " s of processor time, and the program with it: allow more (ulimit -t), or run heaptap as root";
}

void leave_surroundings(int wake) {
  setsid();
  take_name();
  // Whoever reads what heaptap prints is not to wait for this process.
  const int nothing = open("/dev/null", O_RDWR);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, descriptor);
  if (nothing > STDERR_FILENO) close(nothing);
  [[maybe_unused]] const int changed = chdir("/");
  ignore_signals(wake);
  raise_limits();
  be_spared();
  // Threads that stop wait for this one.
  setpriority(PRIO_PROCESS, 0, -5);
}

bool is_out_of_time() { return out_of_time != 0; }

}  // namespace heaptap::tracer
