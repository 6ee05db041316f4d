#include "capture/launch/launch.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

#include "capture/process/process_status.h"
#include "common/base/intervals.h"
#include "common/base/own_limits.h"
#include "common/base/stop_signals.h"
#include "common/wire/handshake.h"

namespace heaptap::launch {
namespace {

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// heaptap's environment with the user's changes, without heaptap's own variables. The agent's variables come last: it
// removes them again.
std::vector<std::string> environment_for(const LaunchOptions& options) {
  std::vector<std::string> result;
  std::string preloaded;
  const auto add = [&](std::string_view entry) {
    if (!options.agent_path.empty() && name_of(entry) == wire::kPreloadVariable) {
      preloaded = entry.substr(entry.find('=') + 1);
      return;
    }
    for (std::string& other : result) {
      if (name_of(other) == name_of(entry)) {
        other = entry;
        return;
      }
    }
    result.emplace_back(entry);
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (name_of(*entry) != base::kIntervalsVariable) add(*entry);
  }
  for (const std::string& entry : options.environment) add(entry);
  if (!options.agent_path.empty()) {
    std::string preload = std::string(wire::kPreloadVariable) + "=" + options.agent_path;
    if (!preloaded.empty()) preload += ":" + preloaded;
    result.push_back(preload);
    result.push_back(std::string(wire::kSessionVariable) + "=" + options.session);
    if (const uint32_t filters = process::count_own_filters(); filters > 0) {
      result.push_back(std::string(wire::kFiltersVariable) + "=" + std::to_string(filters));
    }
  }
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool become_user(const LaunchOptions& options) {
  const bool has_group = options.group != static_cast<gid_t>(-1);
  if (has_group && (setgroups(options.groups.size(), options.groups.data()) != 0 || setgid(options.group) != 0)) {
    return false;
  }
  return options.user == static_cast<uid_t>(-1) || setuid(options.user) == 0;
}

struct Pipe {
  base::UniqueFd read_end;
  base::UniqueFd write_end;

  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
    return true;
  }
};

// Two pipes between parent and child. The child's ends close when it executes the program.
struct Pipes {
  Pipe go;      // a byte: continue
  Pipe report;  // an int: 0 ready, else errno of the failure

  Pipes() {
    if (!go.open() || !report.open()) error = errno;
  }
  // None: the child has executed its program.
  std::optional<int> next_report() const {
    int value = 0;
    ssize_t got = -1;
    do {
      got = read(report.read_end.get(), &value, sizeof(value));
    } while (got < 0 && errno == EINTR);
    return got == sizeof(value) ? std::optional(value) : std::nullopt;
  }

  int error = 0;
};

// In the child: waits for the parent's permission. False: the parent has given up.
bool wait_before_execution(const LaunchOptions& options, Pipes& pipes) {
  if (options.tracer > 0) prctl(PR_SET_PTRACER, options.tracer, 0, 0, 0);  // fails without Yama
  const int ready = 0;
  char word = 0;
  pipes.go.write_end.reset();
  return write(pipes.report.write_end.get(), &ready, sizeof(ready)) == sizeof(ready) &&
         read(pipes.go.read_end.get(), &word, 1) == 1;
}

// In the child: executes the program, or sends errno to the parent: between fork and exec it may not format messages.
// Signals stay blocked while it waits: none of heaptap's handlers may run here.
[[noreturn]] void execute(const LaunchOptions& options, char** arguments, char** environment, const sigset_t& mask,
                          Pipes& pipes) {
  const bool is_user = become_user(options);
  int reason = is_user ? 0 : errno;
  if (is_user && options.before_execution && !wait_before_execution(options, pipes)) _exit(127);
  const bool is_loadable = options.agent_path.empty() || access(options.agent_path.c_str(), R_OK) == 0;
  if (is_user && !is_loadable) {  // else the loader would say so, on the program's stderr
    reason = -errno;
    [[maybe_unused]] const ssize_t told = write(pipes.report.write_end.get(), &reason, sizeof(reason));
    _exit(127);
  }
  base::own_limits::give_back();
  base::stop_signals::give_back();
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (is_user) {
    execve(options.program.c_str(), arguments, environment);
    reason = errno;
  }
  [[maybe_unused]] const ssize_t sent = write(pipes.report.write_end.get(), &reason, sizeof(reason));
  _exit(127);
}

std::unexpected<base::Error> cannot_run(const LaunchOptions& options, int error_number) {
  const auto kind = error_number == ENOENT ? base::ErrorKind::kNotFound : base::ErrorKind::kNotExecutable;
  return base::fail_as(kind, "can't run {}: {}", options.program, base::reason_of(error_number));
}

std::unexpected<base::Error> cannot_record(const LaunchOptions& options, const std::string& why) {
  const char* const way = options.agent_path.empty() ? " with ptrace" : "";
  return base::fail("can't record {}{}: {}", options.program, way, why);
}

// Start of the child up to the program, seen from the parent. Any error ends it.
base::Result<> accompany(const LaunchOptions& options, pid_t child, Pipes& pipes) {
  std::optional<int> report = pipes.next_report();
  if (options.before_execution && report == 0) {
    const base::Result<> agreed = options.before_execution(child);
    const int error = !agreed || write(pipes.go.write_end.get(), "", 1) == 1 ? 0 : errno;
    pipes.go.write_end.reset();
    report = pipes.next_report();
    if (!agreed) return cannot_record(options, agreed.error().message);
    if (error != 0) return cannot_run(options, error);
  }
  if (!report) return {};
  if (*report > 0) return cannot_run(options, *report);
  return cannot_record(
      options, base::make_error("its user can't read {}: {}", options.agent_path, base::reason_of(-*report)).message);
}

}  // namespace

base::Result<Launched> launch(const LaunchOptions& options) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = environment_for(options);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  Pipes pipes;
  if (pipes.error != 0) return cannot_run(options, pipes.error);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    execute(options, const_cast<char**>(argument_pointers.data()), const_cast<char**>(environment_pointers.data()),
            before, pipes);
  }
  const int error = child < 0 ? errno : 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return cannot_run(options, error);
  // The reading end of `go` stays open, so that writing to a killed child raises no SIGPIPE.
  pipes.report.write_end.reset();
  if (const base::Result<> runs = accompany(options, child, pipes); !runs) {
    waitpid(child, nullptr, 0);
    return std::unexpected(runs.error());
  }
  return Launched{.process = child, .descriptor = base::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)))};
}

}  // namespace heaptap::launch
