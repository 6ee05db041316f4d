#include "target/launch.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "wire/handshake.h"

namespace heaptap::target {
namespace {

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// heaptap's environment with the user's changes. What the agent needs comes last: it takes that off again.
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
  for (char** entry = environ; *entry != nullptr; ++entry) add(*entry);
  for (const std::string& entry : options.environment) add(entry);
  if (!options.agent_path.empty()) {
    std::string preload = std::string(wire::kPreloadVariable) + "=" + options.agent_path;
    if (!preloaded.empty()) preload += ":" + preloaded;
    result.push_back(preload);
    result.push_back(std::string(wire::kSessionVariable) + "=" + options.session);
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
  if (options.group != static_cast<gid_t>(-1) && (setgroups(0, nullptr) != 0 || setgid(options.group) != 0))
    return false;
  return options.user == static_cast<uid_t>(-1) || setuid(options.user) == 0;
}

// In the child: becomes the program, or tells the parent why not.
[[noreturn]] void execute(const LaunchOptions& options, char** arguments, char** environment, const sigset_t& mask,
                          int report) {
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (become_user(options)) execve(options.program.c_str(), arguments, environment);
  const int reason = errno;
  [[maybe_unused]] const ssize_t sent = write(report, &reason, sizeof(reason));
  _exit(127);
}

}  // namespace

Launched launch(const LaunchOptions& options) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = environment_for(options);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  Launched launched;
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) {
    launched.error = errno;
    return launched;
  }
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    execute(options, const_cast<char**>(argument_pointers.data()), const_cast<char**>(environment_pointers.data()),
            before, report[1]);
  }
  launched.error = child < 0 ? errno : 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(report[1]);
  int reason = 0;
  if (child > 0 && read(report[0], &reason, sizeof(reason)) == sizeof(reason)) {
    launched.error = reason;
    waitpid(child, nullptr, 0);
  } else if (child > 0) {
    launched.process = child;
    launched.descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  }
  close(report[0]);
  return launched;
}

}  // namespace heaptap::target
