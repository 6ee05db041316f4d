#include "collect/exec_notes.h"

#include <fmt/format.h>

namespace heaptap::collect {
namespace {

using wire::ExecOutcome;

// Behind "a program that", or "programs that".
const char* reason_of(ExecOutcome outcome) {
  switch (outcome) {
    case ExecOutcome::kStatic:
      return "statically linked: --via ptrace records that";
    case ExecOutcome::kOtherLoader:
      return "for another C library: --via ptrace records that";
    case ExecOutcome::kOtherMachine:
      return "for 32 bits or another CPU: --via ptrace records those of 32 bits";
    case ExecOutcome::kPrivileged:
      return "with rights of its own (setuid, setgid or capabilities)";
    case ExecOutcome::kSanitizer:
      return "built with a sanitizer";
    case ExecOutcome::kUnreadable:
      return "that can't be read";
    case ExecOutcome::kOutOfReach:
      return "from where the agent's library or heaptap can't be reached (another root or network, or no permission)";
    case ExecOutcome::kSurroundings:
      return "in a way that isn't followed (an environment that is too large or another heaptap's, or a spawn into "
             "another folder or other rights)";
    case ExecOutcome::kBesideThreads:
      return "by system or popen beside other threads, which isn't followed";
    case ExecOutcome::kNone:
    case ExecOutcome::kHandedOn:
      break;
  }
  return nullptr;
}

}  // namespace

bool has_executed(const wire::LogHeader& log) {
  return log.last_exec.load(std::memory_order_acquire) != static_cast<uint32_t>(ExecOutcome::kNone);
}

std::vector<std::string> exec_notes(const wire::LogHeader& log) {
  std::vector<std::string> notes;
  const auto last = static_cast<ExecOutcome>(log.last_exec.load(std::memory_order_acquire));
  if (const char* const reason = reason_of(last)) {
    notes.push_back(fmt::format("the program executed another one, which is not recorded: one {}", reason));
  }
  for (uint32_t i = 0; i < wire::kExecOutcomeCount; ++i) {
    const uint32_t count = log.execs_refused[i].load(std::memory_order_relaxed);
    const char* const reason = reason_of(static_cast<ExecOutcome>(i));
    if (count == 0 || reason == nullptr) continue;
    notes.push_back(fmt::format("{} executed a program {}, and {} not recorded there",
                                count == 1 ? "a child" : fmt::format("{} children", count), reason,
                                count == 1 ? "is" : "are"));
  }
  return notes;
}

}  // namespace heaptap::collect
