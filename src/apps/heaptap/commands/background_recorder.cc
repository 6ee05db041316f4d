#include "apps/heaptap/commands/background_recorder.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "common/base/own_limits.h"
#include "common/base/unique_fd.h"
#include "common/base/wait_status.h"

namespace heaptap::app {
namespace {

// In the child, before it executes heaptap: only async-signal-safe calls.
[[noreturn]] void become_recorder(pid_t parent, int end_signal, int input, int output, char** arguments,
                                  char** environment) {
  (void)setsid();
  if (end_signal != 0) {
    (void)prctl(PR_SET_PDEATHSIG, end_signal);
    if (getppid() != parent) _exit(1);
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP}) (void)signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool is_ready =
      dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0;
  base::own_limits::give_back();
  if (is_ready) execve("/proc/self/exe", arguments, environment);
  _exit(127);
}

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

// This process's environment with some variables replaced; one of each name, since the reader of a secret wipes only
// one.
std::vector<std::string> environment_with(const std::vector<std::string>& more_variables) {
  std::vector<std::string> variables = more_variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const auto is_same = [&](const std::string& other) { return name_of(other) == name_of(*variable); };
    if (std::ranges::none_of(more_variables, is_same)) variables.emplace_back(*variable);
  }
  return variables;
}

}  // namespace

base::Result<BackgroundRecorder> BackgroundRecorder::start(const std::vector<std::string>& arguments, int output,
                                                           std::optional<int> end_signal,
                                                           const std::vector<std::string>& more_variables) {
  std::vector<std::string> words{"heaptap"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::vector<std::string> variables = environment_with(more_variables);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  const base::UniqueFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing) return base::fail("can't open /dev/null: {}", base::reason_of(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return base::fail("can't start heaptap {}: {}", arguments.front(), base::reason_of(errno));
  if (child == 0)
    become_recorder(parent, end_signal.value_or(0), nothing.get(), output, pointers.data(), environment.data());
  return BackgroundRecorder(child);
}

bool BackgroundRecorder::has_ended() {
  if (!is_ended_) is_ended_ = waitpid(pid_, nullptr, WNOHANG) == pid_;
  return is_ended_;
}

void BackgroundRecorder::end(int signal) {
  if (has_ended()) return;
  (void)kill(pid_, signal);
  (void)base::wait_for(pid_);
  is_ended_ = true;
}

base::Result<std::unique_ptr<client::Recording>> BackgroundRecorder::connect() const {
  return client::connect_to_recording_of(pid_);
}

}  // namespace heaptap::app
