// Console commands that control a live recording.
#include "apps/heaptap/console/console_commands.h"
#include "common/base/safe_text.h"
#include "common/base/whole_number.h"

namespace heaptap::app {
namespace {

using shell::Words;

// Action on one process or all, and its message.
base::Result<> steer(ConsoleSession& session, const Words& arguments,
                     base::Result<> (client::LiveControl::*act)(uint32_t), std::string_view command,
                     std::string_view done) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  const auto pid = session.pid_of(arguments, 0);
  if (!pid) return std::unexpected(pid.error());
  const auto control = client::control_of(**recording, command);
  if (!control) return std::unexpected(control.error());
  HEAPTAP_TRY((*control->*act)(*pid));
  return session.print(fmt::format("{}: {}\n", *pid == 0 ? "all processes" : fmt::format("process {}", *pid), done));
}

base::Result<> mark(ConsoleSession& session, const Words& arguments) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  if (arguments.size() != 1 || arguments.front().empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "mark: expected one name, as in `mark warm` or `mark 'after login'`");
  }
  const auto control = client::control_of(**recording, "mark");
  if (!control) return std::unexpected(control.error());
  const auto marked = (*control)->mark(session.settings.process, arguments.front());
  if (!marked) return std::unexpected(marked.error());
  session.expect_marks(arguments.front(), *marked);
  return session.print(fmt::format("mark '{}' is set\n", base::safe_text(arguments.front())));
}

// `kill`, `kill PID`, `kill TERM`, `kill -9`, `kill 9 PID`.
base::Result<> kill_process(ConsoleSession& session, const Words& arguments) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  const bool has_signal = arguments.size() > 1 || (arguments.size() == 1 && !base::is_digits(arguments.front()));
  std::string signal = has_signal ? arguments.front() : "TERM";
  if (signal.starts_with('-')) signal.erase(0, 1);
  const auto pid = session.pid_of(arguments, has_signal ? 1 : 0);
  if (!pid) return std::unexpected(pid.error());
  const auto control = client::control_of(**recording, "kill");
  if (!control) return std::unexpected(control.error());
  HEAPTAP_TRY((*control)->kill(*pid, signal));
  return session.print(fmt::format("{} was sent to {}\n", base::safe_text(signal),
                                   *pid == 0 ? "all processes" : fmt::format("process {}", *pid)));
}

}  // namespace

std::vector<shell::Command> steering_commands(ConsoleSession& session) {
  using client::LiveControl;
  const auto steering = [&session](base::Result<> (LiveControl::*act)(uint32_t), const char* command,
                                   const char* done) {
    return [&session, act, command, done](const Words& words) { return steer(session, words, act, command, done); };
  };
  return {
      {.name = "start",
       .usage = "start [PID]",
       .summary = "resume recording after `stop`",
       .help = "  Allocations made in between are not known.\n",
       .run = steering(&LiveControl::start, "start", "recording is on"),
       .complete = pid_words(session)},
      {.name = "stop",
       .usage = "stop [PID]",
       .summary = "pause recording; the program keeps running",
       .help = "  Without a PID: all processes. `start` resumes recording; `detach` ends it.\n",
       .run = steering(&LiveControl::stop, "stop", "recording is off"),
       .complete = pid_words(session)},
      {.name = "reset",
       .usage = "reset [PID]",
       .summary = "count from here on",
       .help = "  Figures restart at 0; the trace keeps the events before. `clear` means the same.\n",
       .run = steering(&LiveControl::reset, "reset", "counts from here on"),
       .complete = pid_words(session),
       .aliases = {"clear"}},
      {.name = "mark",
       .usage = "mark NAME",
       .summary = "name this moment of the recording",
       .help = "  `marks` lists them.\n",
       .run = [&session](const Words& words) { return mark(session, words); },
       .complete = [&session](const Words&, const std::string&) { return session.mark_names(); }},
      {.name = "detach",
       .usage = "detach [PID]",
       .summary = "end the recording; the process keeps running",
       .help = "  Without a PID: all processes. The trace is complete then.\n",
       .run = steering(&LiveControl::detach, "detach", "detached"),
       .complete = pid_words(session)},
      {.name = "kill",
       .usage = "kill [SIGNAL] [PID]",
       .summary = "send the program a signal, by default TERM",
       .help = "  A single number is a PID: `kill 1234`, `kill HUP`, `kill -9 1234`.\n",
       .run = [&session](const Words& words) { return kill_process(session, words); },
       .complete = pid_words(session, {"HUP", "INT", "KILL", "TERM", "USR1", "USR2"})},
  };
}

}  // namespace heaptap::app
