// Status of a child or traced thread, from waitpid: how it ended, or why it stopped (waitpid(2), ptrace(2)).
#pragma once
#include <sys/types.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <optional>

namespace heaptap::base {

// A shell's `$?` after this signal killed a program.
constexpr int shell_status_of(int signal) { return 128 + signal; }

class WaitStatus {
 public:
  // Exited with 0.
  constexpr WaitStatus() = default;
  constexpr explicit WaitStatus(int raw) : raw_(raw) {}
  // A stop with that signal, and by ptrace with an event (PTRACE_EVENT_…).
  static constexpr WaitStatus stopped(int signal, int event = 0) { return of_stop(event << 8 | signal); }
  // A stop as told by waitid: its si_status.
  static constexpr WaitStatus of_stop(int waitid_status) { return WaitStatus(waitid_status << 8 | kStopped); }

  bool operator==(const WaitStatus&) const = default;
  // As waitpid stores it.
  [[nodiscard]] constexpr int raw() const { return raw_; }

  [[nodiscard]] constexpr bool has_exited() const { return WIFEXITED(raw_); }
  [[nodiscard]] constexpr bool was_killed() const { return WIFSIGNALED(raw_); }
  [[nodiscard]] constexpr bool has_ended() const { return has_exited() || was_killed(); }
  [[nodiscard]] constexpr bool has_stopped() const { return WIFSTOPPED(raw_); }

  // After an exit.
  [[nodiscard]] constexpr int exit_code() const { return WEXITSTATUS(raw_); }
  // After a signal killed it.
  [[nodiscard]] constexpr int end_signal() const { return WTERMSIG(raw_); }
  // The end as a shell's `$?`.
  [[nodiscard]] constexpr int shell_status() const {
    return was_killed() ? shell_status_of(end_signal()) : exit_code();
  }

  // While stopped. SIGTRAP for system calls and most events.
  [[nodiscard]] constexpr int stop_signal() const { return WSTOPSIG(raw_) & ~kSystemCall; }
  // While stopped by ptrace: PTRACE_EVENT_…; 0: none.
  [[nodiscard]] constexpr int event() const { return raw_ >> 16; }
  // While stopped by ptrace with PTRACE_O_TRACESYSGOOD.
  [[nodiscard]] constexpr bool is_in_system_call() const {
    return has_stopped() && event() == 0 && WSTOPSIG(raw_) == (SIGTRAP | kSystemCall);
  }

 private:
  static constexpr int kStopped = 0x7f;
  static constexpr int kSystemCall = 0x80;  // PTRACE_O_TRACESYSGOOD

  int raw_ = 0;
};

// waitpid for one child, not ended by this process's own signals. None: not a child of its, or with WNOHANG nothing new.
inline std::optional<WaitStatus> wait_for(pid_t child, int options = 0) {
  int status = 0;
  pid_t got = -1;
  do {
    got = waitpid(child, &status, options);
  } while (got < 0 && errno == EINTR);
  return got > 0 ? std::optional(WaitStatus(status)) : std::nullopt;
}

}  // namespace heaptap::base
