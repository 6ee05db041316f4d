// A forked child that runs a function of a test, and what the test needs to know of it.
#pragma once
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "base/small_file.h"
#include "process/process_status.h"

namespace heaptap::test {

// A child runs this program's code, over this program's allocator. With a sanitizer that isn't glibc's, and code leaves other
// things on stacks: what a test asks of these can't be asked then.
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

  // What the child writes next. False: it ended.
  template <typename T>
  bool receive(T& value) const {
    return read(from_child_, &value, sizeof(value)) == static_cast<ssize_t>(sizeof(value));
  }

  // Its exit status as waitpid gives it.
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

// Until the process is in one of these states (proc(5)). False: it has ended before.
inline bool wait_for_state(pid_t process, const std::string& states) {
  for (;;) {
    const auto status = process::read_thread_status(process);
    if (!status || (status->state == 'Z' && states.find('Z') == std::string::npos)) return false;
    if (states.find(status->state) != std::string::npos) return true;
    usleep(100);
  }
}

// Until it sleeps in the system call of this number, or in the one that goes on with it after a stop.
inline bool wait_until_blocked(pid_t process, long number) {
  constexpr long kRestart = 219;
  for (;;) {
    if (!wait_for_state(process, "S")) return false;
    const std::string text = base::read_small_file("/proc/" + std::to_string(process) + "/syscall");
    const long now = std::strtol(text.c_str(), nullptr, 10);
    if (!text.starts_with("running") && (now == number || now == kRestart)) return true;
    usleep(100);
  }
}

}  // namespace heaptap::test
