#include "apps/heaptap/console/console_news.h"

#include <fmt/format.h>

#include <cstring>

#include "common/base/safe_text.h"

namespace heaptap::app {
namespace {

using Kind = client::News::Kind;

// Empty: unknown.
std::string exit_text(const model::ExitStatus& exit) {
  if (exit.signal) {
    const char* const name = sigabbrev_np(*exit.signal);
    return name != nullptr ? fmt::format("killed by SIG{}", name) : fmt::format("killed by signal {}", *exit.signal);
  }
  return exit.code ? fmt::format("exited with {}", *exit.code) : "";
}

std::string ended_text(const model::ExitStatus& exit) {
  const std::string how = exit_text(exit);
  return exit.signal ? "was " + how : how.empty() ? "ended" : how;
}

}  // namespace

std::string news_text(const client::News& news) {
  const std::string process = fmt::format("process {}", news.pid);
  const std::string text = base::safe_text(news.text);
  switch (news.kind) {
    case Kind::kBegan:
      return news.parent_pid == 0
                 ? process + " is recorded"
                 : fmt::format("{} was forked by process {}, and is recorded", process, news.parent_pid);
    case Kind::kExecuted:
      return fmt::format("{} executed {}", process, text.empty() ? "another program" : text);
    case Kind::kEnded:
      return fmt::format("{} {}", process, ended_text(news.exit));
    case Kind::kDetached:
      return process + " is detached, still running";
    case Kind::kScanned:
      return fmt::format("{}: scan {} finished", process, news.number);
    case Kind::kMarked:
      return fmt::format("{}: mark {}{}", process, news.number, text.empty() ? "" : " '" + text + "'");
    case Kind::kSwitchedOn:
      return process + ": recording is on";
    case Kind::kSwitchedOff:
      return process + ": recording is off";
    case Kind::kConnectionLost:
      break;
  }
  return fmt::format("the recording has ended{}: its trace is still shown", text.empty() ? "" : " (" + text + ")");
}

std::string state_text(const client::Process& process) {
  if (process.runs) return process.is_on ? "running" : "running, recording is off";
  if (const std::string how = exit_text(process.exit); !how.empty()) return how;
  if (process.executed) return "executed another program";
  return process.detached ? "detached" : "ended";
}

}  // namespace heaptap::app
