// Fields of /proc/PID/stat for a process or a thread, by their numbers in proc(5).
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace heaptap::process {

class StatLine {
 public:
  enum Field : int {
    kState = 3,
    kFlags = 9,      // PF_… flags of the kernel
    kUserTime = 14,  // in the kernel's ticks
    kSystemTime = 15,
    kStartTime = 22,   // in kernel ticks since boot
    kResident = 24,    // pages
    kStartStack = 28,  // start of the process's first stack
    kProcessor = 39,   // last used
    kArgumentsStart = 48,
    kArgumentsEnd = 49,
    kEnvironmentEnd = 51,
    kExitCode = 52,  // as waitpid(2) has it; 0 also for who may not know
  };

  // The whole file, which has one line. The second field is a name in parentheses, which may contain any byte.
  explicit StatLine(std::string text) : text_(std::move(text)) {}
  // Empty where there is no such thread.
  static StatLine of(pid_t thread);
  static StatLine of_own();

  // A field after the name. None: missing, or no such number.
  [[nodiscard]] std::optional<uint64_t> number(Field field) const;
  // Empty: missing.
  [[nodiscard]] std::string_view text(Field field) const;

 private:
  std::string text_;
};

}  // namespace heaptap::process
