// Forked child that runs a test's function, and queries about its state.
#pragma once
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "capture/process/process_status.h"
#include "common/base/small_file.h"
#include "waiting.h"

namespace heaptap::test {

// Whether the child uses a sanitizer's allocator. It runs this program's code: with a sanitizer, allocator and stack contents differ,
// so tests that depend on these must be skipped.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kChildIsSanitized = true;
#else
constexpr bool kChildIsSanitized = false;
#endif

class ChildProcess {
 public:
  // `body` runs in the child, with the descriptor of a pipe to the test.
  explicit ChildProcess(const std::function<void(int)>& body) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      close(ends[0]);
      body(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    from_child_ = ends[0];
  }
  ~ChildProcess() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    close(from_child_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t id() const { return process_; }

  // Next value written by the child. False: it ended.
  template <typename T>
  bool receive(T& value) const {
    return read(from_child_, &value, sizeof(value)) == static_cast<ssize_t>(sizeof(value));
  }

  // Waits for its end; exit status as from waitpid.
  int wait() {
    int status = -1;
    waitpid(process_, &status, 0);
    process_ = -1;
    return status;
  }

 private:
  pid_t process_ = -1;
  int from_child_ = -1;
};

// Waits until the process is in one of these states (proc(5)). False: it ended before. Not inlined: children forked later inherit the
// test's frame with leftovers in it.
[[gnu::noinline]] inline bool wait_for_state(pid_t process, const std::string& states) {
  bool has_it = false;
  const auto is_known = [&] {
    const auto status = process::read_thread_status(process);
    has_it = status && states.find(status->state) != std::string::npos;
    return has_it || !status || status->state == 'Z';
  };
  return wait_for("process " + std::to_string(process) + " is in state " + states, is_known, process) && has_it;
}

// Waits until it sleeps in the system call of this number, or in restart_syscall after a stop.
[[gnu::noinline]] inline bool wait_until_blocked(pid_t process, long number) {
  constexpr long kRestart = 219;
  bool is_blocked = false;
  const auto is_known = [&] {
    if (!wait_for_state(process, "S")) return true;
    const std::string text = base::read_small_file("/proc/" + std::to_string(process) + "/syscall");
    const long now = std::strtol(text.c_str(), nullptr, 10);
    is_blocked = !text.starts_with("running") && (now == number || now == kRestart);
    return is_blocked;
  };
  return wait_for("system call " + std::to_string(number), is_known, process) && is_blocked;
}

}  // namespace heaptap::test
