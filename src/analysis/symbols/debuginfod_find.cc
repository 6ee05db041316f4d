#include "analysis/symbols/debuginfod_find.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/hex_text.h"
#include "common/base/unique_fd.h"
#include "common/base/wait_status.h"

namespace heaptap::symbols {
namespace {

constexpr int kMsBetweenLooks = 50;

// This process's environment, with limits for libdebuginfod where the user has set none.
class Environment {
 public:
  explicit Environment(const DebuginfodFind& wanted) {
    add("DEBUGINFOD_TIMEOUT", std::to_string(wanted.silence.count()));
    add("DEBUGINFOD_MAXSIZE", std::to_string(wanted.max_bytes));
    for (char** variable = environ; *variable != nullptr; ++variable) pointers_.push_back(*variable);
    for (std::string& variable : own_) pointers_.push_back(variable.data());
    pointers_.push_back(nullptr);
  }
  char* const* get() { return pointers_.data(); }

 private:
  void add(const char* name, const std::string& value) {
    if (std::getenv(name) == nullptr) own_.push_back(std::string(name) + "=" + value);
  }

  std::vector<std::string> own_;
  std::vector<char*> pointers_;
};

// A started program in a process group of its own, which ends with this object.
class Child {
 public:
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (id_ == 0) return;
    (void)kill(-id_, SIGKILL);
    (void)base::wait_for(id_);
  }

  static base::Result<> start(Child& child, const DebuginfodFind& wanted, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    Environment environment(wanted);
    std::string name = "debuginfod-find";
    std::string kind = "debuginfo";
    std::string build_id = base::hex_text(wanted.build_id);
    const std::array<char*, 4> words{name.data(), kind.data(), build_id.data(), nullptr};
    pid_t id = 0;
    const int error = posix_spawn(&id, wanted.program.c_str(), &actions, &attributes, words.data(), environment.get());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) return base::fail("can't run '{}': {}", wanted.program, base::reason_of(error));
    child.id_ = id;
    // Of versions that don't know DEBUGINFOD_MAXSIZE.
    const rlimit limit{.rlim_cur = wanted.max_bytes, .rlim_max = wanted.max_bytes};
    (void)prlimit(id, RLIMIT_FSIZE, &limit, nullptr);
    return {};
  }

  // None: it runs on.
  std::optional<base::WaitStatus> status() {
    const auto status = base::wait_for(id_, WNOHANG);
    if (status) id_ = 0;
    return status;
  }

  Child() = default;

 private:
  pid_t id_ = 0;
};

// Reads what is there. Whether more may come.
bool read_some(const base::UniqueFd& output, std::string& text) {
  std::array<char, 1024> bytes{};
  const ssize_t count = read(output.get(), bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text.append(bytes.data(), static_cast<size_t>(count));
  return count > 0;
}

}  // namespace

std::string debuginfod_find_program() {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
    if (!directory.starts_with('/')) continue;
    const std::string program = std::string(directory) + "/debuginfod-find";
    struct stat status{};
    if (stat(program.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(program.c_str(), X_OK) == 0)
      return program;
  }
  return "";
}

base::Result<std::string> run_debuginfod_find(const DebuginfodFind& wanted, const std::function<bool()>& goes_on) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail("can't make a pipe: {}", base::reason_of(errno));
  base::UniqueFd output(ends[0]);
  base::UniqueFd input(ends[1]);
  Child child;
  HEAPTAP_TRY(Child::start(child, wanted, input.get()));
  input.reset();
  std::string text;
  std::optional<base::WaitStatus> status;
  while (output || !status) {
    if (!goes_on()) return base::fail("debuginfod-find was stopped");
    pollfd ready{.fd = output ? output.get() : -1, .events = POLLIN, .revents = 0};
    const bool is_ready = poll(&ready, 1, kMsBetweenLooks) == 1;
    if (is_ready && !read_some(output, text)) output.reset();
    if (text.size() > PATH_MAX) return base::fail("debuginfod-find printed no path");
    if (!status) status = child.status();
    if (status && !is_ready) output.reset();  // who else has the pipe isn't waited for
  }
  if (status->shell_status() != 0)
    return base::fail("debuginfod-find exited with {} for the debug file: the servers don't have it, or don't answer",
                      status->shell_status());
  if (text.ends_with('\n')) text.pop_back();
  if (!text.starts_with('/') || text.find('\n') != text.npos || text.find('\0') != text.npos)
    return base::fail("debuginfod-find printed no path");
  return text;
}

}  // namespace heaptap::symbols
