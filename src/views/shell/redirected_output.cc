#include "views/shell/redirected_output.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "common/base/wait_status.h"

namespace heaptap::shell {
namespace {

constexpr mode_t kOutputMode = 0666;  // less what the umask takes

}  // namespace

base::Result<RedirectedOutput> RedirectedOutput::begin(Redirection redirection, const std::string& target) {
  RedirectedOutput output;
  if (redirection == Redirection::kNone) return output;
  // A child of `start` must not inherit buffered output.
  (void)std::fflush(stdout);
  HEAPTAP_TRY(redirection == Redirection::kCommand ? output.start(target) : output.open_file(redirection, target));
  HEAPTAP_TRY(output.put_in_place());
  return output;
}

base::Result<> RedirectedOutput::open_file(Redirection redirection, const std::string& target) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
  goal_.reset(open(target.c_str(), flags | O_EXCL, kOutputMode));
  if (goal_) {
    made_ = target;
    return {};
  }
  const bool exists = errno == EEXIST;
  struct stat status{};
  const bool is_file = stat(target.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  if (exists && is_file && redirection == Redirection::kNewFile) {
    return base::fail_as(base::ErrorKind::kUsage, "'{}' already exists: >| replaces it, >> appends to it", target);
  }
  goal_.reset(open(target.c_str(), flags | (redirection == Redirection::kAppend ? O_APPEND : O_TRUNC), kOutputMode));
  if (!goal_) return base::fail("can't write to '{}': {}", target, base::reason_of(errno));
  return {};
}

base::Result<> RedirectedOutput::start(const std::string& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail("can't make a pipe: {}", base::reason_of(errno));
  const base::UniqueFd read_end(ends[0]);
  goal_.reset(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::string text = command;
  std::array<char, 3> shell{"sh"};
  std::array<char, 3> option{"-c"};
  const std::array<char*, 4> arguments{shell.data(), option.data(), text.data(), nullptr};
  const int error = posix_spawn(&child_, "/bin/sh", &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return base::fail("can't start /bin/sh: {}", base::reason_of(error));
  return {};
}

base::Result<> RedirectedOutput::put_in_place() {
  before_.reset(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!before_ || dup2(goal_.get(), STDOUT_FILENO) < 0) {
    return base::fail("can't redirect the output: {}", base::reason_of(errno));
  }
  return {};
}

bool RedirectedOutput::is_left() const {
  pollfd pipe{.fd = goal_.get(), .events = 0, .revents = 0};
  return child_ != 0 && poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0;
}

base::Result<int> RedirectedOutput::end(bool keep) {
  if (!before_) return 0;
  const bool was_left = is_left();
  const bool is_written = std::fflush(stdout) == 0 || was_left;
  const int reason = errno;
  __fpurge(stdout);  // unwritten output must not be written later, elsewhere
  std::clearerr(stdout);
  (void)dup2(before_.get(), STDOUT_FILENO);
  before_.reset();
  goal_.reset();
  const auto status = child_ != 0 ? base::wait_for(child_) : std::nullopt;
  child_ = 0;
  if (!keep && !made_.empty()) (void)unlink(made_.c_str());
  if (!is_written) return base::fail("can't write the output: {}", base::reason_of(reason));
  return status.value_or(base::WaitStatus()).shell_status();
}

RedirectedOutput::~RedirectedOutput() {
  if (before_) (void)end(false);
}

}  // namespace heaptap::shell
