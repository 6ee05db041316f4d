// What /proc/PID/stat says of a process or a thread, by the numbers that proc(5) gives its fields.
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
    kFlags = 9,      // PF_… of the kernel's
    kUserTime = 14,  // in the kernel's ticks
    kSystemTime = 15,
    kStartTime = 22,   // in the kernel's ticks since the machine began
    kResident = 24,    // pages
    kStartStack = 28,  // where the process's first stack began
    kProcessor = 39,   // that it ran on last
    kArgumentsStart = 48,
    kArgumentsEnd = 49,
  };

  // The whole file, which has one line. The second field is a name in parentheses, which may have any byte in it.
  explicit StatLine(std::string text) : text_(std::move(text)) {}
  // Nothing is in it where there is no such thread.
  static StatLine of(pid_t thread);
  static StatLine of_own();

  // One of the fields behind the name. None: it isn't there, or is no such number.
  [[nodiscard]] std::optional<uint64_t> number(Field field) const;
  // Empty: it isn't there.
  [[nodiscard]] std::string_view text(Field field) const;

 private:
  std::string text_;
};

}  // namespace heaptap::process
