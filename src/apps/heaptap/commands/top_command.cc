#include "apps/heaptap/commands/top_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "apps/heaptap/commands/end_signals.h"
#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/session_recorder.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/top_connection.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/options/pid_word.h"
#include "common/base/exit_status.h"
#include "views/client/recording.h"
#include "views/top/output.h"

namespace heaptap::app {
namespace {

constexpr uint64_t kMaxWaitMs = 86'400'000;

// Recording, and its recorder if started here.
struct Watched {
  std::unique_ptr<SessionRecorder> recorder;
  std::unique_ptr<client::Recording> recording;
};

base::Result<Watched> begin_recording(std::unique_ptr<SessionRecorder> recorder, EndSignals& signals) {
  auto recording = recorder->connect([&signals] { return signals.wait(SessionRecorder::kMsBetweenTries); });
  if (!recording) return std::unexpected(std::move(recording).error());
  return Watched{std::move(recorder), *std::move(recording)};
}

base::Result<Watched> watch_process(uint32_t pid, const TopOptions& options, EndSignals& signals) {
  auto known = recording_of(options.machine, pid);
  if (!known) return std::unexpected(std::move(known).error());
  if (*known != nullptr) return Watched{nullptr, *std::move(known)};
  auto recorder = SessionRecorder::attach_to(options.machine, pid, {.output = options.output});
  if (!recorder) return std::unexpected(std::move(recorder).error());
  auto begun = begin_recording(*std::move(recorder), signals);
  if (begun || signals.number() != 0) return begun;
  auto other = recording_instead(options.machine, pid, begun.error());
  if (!other) return std::unexpected(std::move(other).error());
  return Watched{nullptr, *std::move(other)};
}

base::Result<Watched> watch(const TopOptions& options, EndSignals& signals) {
  if (!options.command.empty()) {
    auto recorder = SessionRecorder::start(options.machine, options.command, {.output = options.output});
    if (!recorder) return std::unexpected(std::move(recorder).error());
    return begin_recording(*std::move(recorder), signals);
  }
  const std::string& target = options.target;
  if (base::is_digits(target)) {
    const auto pid = pid_in(target);
    if (!pid) return base::fail_as(base::ErrorKind::kUsage, "top: '{}' is not a PID", target);
    return watch_process(static_cast<uint32_t>(*pid), options, signals);
  }
  auto recording = target.empty()      ? connect_to_running(options.machine.host)
                   : is_socket(target) ? client::connect_to_socket(target)
                                       : client::open_past(target, open_trace, analyze_trace);
  if (!recording) return std::unexpected(std::move(recording).error());
  return Watched{nullptr, *std::move(recording)};
}

// False: the reader has closed the pipe.
base::Result<bool> write_line(std::string_view line) {
  if (fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0) return true;
  if (errno == EPIPE) return false;
  return base::fail("can't write to the standard output: {}", base::reason_of(errno));
}

top::Wait waiting_for(EndSignals& signals) {
  return [&signals](uint64_t nanoseconds) {
    return signals.wait(static_cast<int>(std::min(nanoseconds / 1'000'000, kMaxWaitMs)));
  };
}

base::Result<> print_json(client::Recording& recording, const TopOptions& options, EndSignals& signals) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  return top::write_json_lines(recording, options.settings, write_line, waiting_for(signals));
}

// A recording that has just begun has nothing to show yet.
base::Result<> print_picture(const Watched& watched, const TopOptions& options, EndSignals& signals) {
  top::TopSettings settings = options.settings;
  settings.color = use_color(options.color, STDOUT_FILENO);
  const auto wait = waiting_for(signals);
  const auto text = top::picture_as_text(*watched.recording, settings, terminal_width(STDOUT_FILENO),
                                         watched.recorder == nullptr ? top::Wait() : wait);
  if (!text) return std::unexpected(text.error());
  return print_output(*text);
}

// The number of the terminating signal, or 0.
base::Result<int> show_screen(Watched& watched, const TopOptions& options, EndSignals& signals) {
  top::TopSettings settings = options.settings;
  settings.color = use_color(options.color, STDOUT_FILENO);
  signals.unblock();
  auto ending = top::run_on_screen(std::move(watched.recording), settings);
  if (!ending) return std::unexpected(std::move(ending).error());
  if (!ending->trouble.empty()) return base::fail("{}", ending->trouble);
  return ending->signal.value_or(0);
}

base::Result<int> show(const TopOptions& options, EndSignals& signals) {
  auto watched = watch(options, signals);
  if (!watched) return std::unexpected(std::move(watched).error());
  if (watched->recorder == nullptr) signals.unblock();  // nothing to detach from
  if (options.json) {
    HEAPTAP_TRY(print_json(*watched->recording, options, signals));
    return signals.number();
  }
  if (!options.once && top::can_have_screen()) return show_screen(*watched, options, signals);
  HEAPTAP_TRY(print_picture(*watched, options, signals));
  return signals.number();
}

}  // namespace

// A terminating signal is raised again after detaching.
int perform(const TopOptions& options) {
  int number = 0;
  {
    EndSignals signals;
    const auto shown = show(options, signals);
    if (!shown && signals.number() == 0) {
      print_error(fmt::format("heaptap: {}\n", shown.error().message));
      return base::exit_status_of(shown.error().kind);
    }
    number = shown ? *shown : signals.number();
  }
  return number == 0 ? 0 : raise_again(number);
}

}  // namespace heaptap::app
