// Console commands for status: recorded processes, progress, and the cost of recording.
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <utility>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/sampling_text.h"
#include "analysis/findings/tracer_pauses.h"
#include "analysis/findings/words.h"
#include "apps/heaptap/console/console_commands.h"
#include "apps/heaptap/console/console_news.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "views/shell/interrupts.h"
#include "views/text/fold.h"
#include "views/text/text_parts.h"
#include "views/text/text_table.h"

namespace heaptap::app {
namespace {

using base::format_bytes;
using base::format_count;
using base::format_duration;
using shell::Words;

std::string or_unknown(const std::optional<uint64_t>& number, std::string (*text)(uint64_t)) {
  return number ? text(*number) : "unknown";
}

std::string log_text(const client::Figures& figures) {
  if (figures.log_limit_bytes == 0) return fmt::format("log {} at most", format_bytes(figures.log_used_bytes));
  constexpr double kHundred = 100;
  return fmt::format(
      "log {} of {} ({:.0f}%)", format_bytes(figures.log_used_bytes), format_bytes(figures.log_limit_bytes),
      kHundred * static_cast<double>(figures.log_used_bytes) / static_cast<double>(figures.log_limit_bytes));
}

std::string live_text(client::Recording& recording, uint32_t pid) {
  query::Query query;
  query.listing.stacks = query.counting.statistics = query.counting.lifetimes = false;
  query.progress = [](uint64_t, uint64_t) { shell::throw_if_interrupted(); };
  const auto report = recording.glance(pid, query);
  if (!report) return fmt::format("live: unknown ({})", report.error().message);
  const report::Totals& totals = report->totals;
  const std::string live =
      totals.live_bytes.is_known()
          ? fmt::format(
                "{} in {} blocks{}", format_bytes(totals.live_bytes.counted()),
                text::number_or("an unknown number of", totals.live_blocks, format_count),
                findings::bounds_behind(findings::bounds_text(totals.live_bytes.counted(), totals.sample_interval)))
          : "unknown";
  return fmt::format("live {}, peak {}{}", live, text::number_or("unknown", totals.peak_live_bytes, format_bytes),
                     findings::bytes_error_text(totals.peak_error_bytes));
}

std::string freshness_text(client::Recording& recording, uint32_t pid) {
  client::LiveControl* const control = recording.control();
  if (control == nullptr) return "";
  const client::Freshness fresh = control->freshness(pid);
  if (!fresh.is_behind()) return "";
  return fmt::format(", {} of it not counted yet", format_bytes(fresh.written_bytes - fresh.read_bytes));
}

base::Result<std::string> status_of(client::Recording& recording, const client::Process& process) {
  const auto figures = recording.figures(process.pid);
  if (!figures) return std::unexpected(figures.error());
  std::string text =
      fmt::format("{} (pid {}): {}\n", base::safe_text(process.program), process.pid, state_text(process));
  text += fmt::format("  {}, {} events, {} lost\n", format_duration(figures->time_ns), format_count(figures->events),
                      format_count(figures->lost_events));
  text += fmt::format("  {}\n", live_text(recording, process.pid));
  text += fmt::format("  {}, trace {}{}\n", log_text(*figures), format_bytes(figures->trace_bytes),
                      freshness_text(recording, process.pid));
  if (figures->resident_bytes) text += fmt::format("  resident {}\n", format_bytes(*figures->resident_bytes));
  return text + fmt::format("  {}, {}\n", findings::counted(figures->marks, "mark"),
                            findings::counted(figures->scans, "leak scan"));
}

// Output for programs has untruncated names.
size_t table_width() { return fold_width(STDOUT_FILENO); }

// Each process at its first occurrence, with its programs in the order of execution.
std::vector<client::Process> in_turn(const std::vector<client::Process>& processes) {
  std::map<uint32_t, size_t> places;
  for (size_t i = 0; i < processes.size(); ++i) places.try_emplace(processes[i].pid, i);
  std::vector<client::Process> sorted = processes;
  std::ranges::sort(sorted, {},
                    [&](const client::Process& process) { return std::pair(places.at(process.pid), process.image); });
  return sorted;
}

base::Result<> list_processes(ConsoleSession& session) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  const auto processes = (*recording)->processes();
  if (!processes) return std::unexpected(processes.error());
  using Align = text::Align;
  text::TextTable table({{"PID"},
                         {"PARENT"},
                         {"IMAGE"},
                         {"PROGRAM", Align::kLeft},
                         {"BY", Align::kLeft},
                         {"STATE", Align::kLeft},
                         {"TRACE", Align::kLeft}},
                        table_width());
  for (const client::Process& process : in_turn(*processes)) {
    table.add({std::to_string(process.pid), process.parent_pid == 0 ? "-" : std::to_string(process.parent_pid),
               std::to_string(process.image), base::safe_text(process.program), base::safe_text(process.via),
               state_text(process), base::safe_text(process.trace)});
  }
  return session.print(table.render(text::Ink(use_color(session.settings.color, STDOUT_FILENO))));
}

base::Result<> list_marks(ConsoleSession& session, const Words& arguments) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  const auto pid = session.pid_of(arguments, 0);
  if (!pid) return std::unexpected(pid.error());
  const auto marks = (*recording)->marks(*pid);
  if (!marks) return std::unexpected(marks.error());
  if (marks->empty()) return session.print("no marks\n");
  text::TextTable table({{"MARK"}, {"TIME"}, {"EVENTS BEFORE"}, {"NAME", text::Align::kLeft}}, table_width());
  for (const model::Mark& mark : *marks) {
    table.add({std::to_string(mark.number), format_duration(mark.time_ns), format_count(mark.events_before),
               base::safe_text(findings::mark_text(mark))});
  }
  return session.print(table.render(text::Ink(use_color(session.settings.color, STDOUT_FILENO))));
}

std::string settings_of_recording(const client::Settings& settings) {
  std::string command;
  for (const std::string& word : settings.command) {
    if (!command.empty()) command += ' ';
    command += base::safe_text(word);
  }
  const auto yes = [](bool is_so) { return is_so ? "yes" : "no"; };
  std::string text = "The recording\n";
  if (!command.empty()) text += fmt::format("  command               {}\n", command);
  text += fmt::format("  by                    {}, heaptap {}{}\n", base::safe_text(settings.via),
                      base::safe_text(settings.heaptap_version),
                      settings.collector_pid != 0 ? fmt::format(" (pid {})", settings.collector_pid) : "");
  if (settings.collector_pid == 0) return text;  // finished: unknown in a trace
  text += fmt::format("  frames of a stack     {}\n", settings.depth == 0 ? "all" : std::to_string(settings.depth));
  text += fmt::format("  child processes       {}\n", yes(settings.follows_fork));
  text += fmt::format("  executed programs     {}\n", yes(settings.follows_exec));
  text += fmt::format("  leak scan at the end  {}\n", yes(settings.scans_at_end));
  text += fmt::format("  when the log is full  {}\n",
                      settings.drops_on_overflow ? "events are dropped" : "the program waits");
  return text;
}

std::string cost_text(const client::Figures& figures, bool is_traced) {
  std::string text = "Cost of the recording\n";
  text += fmt::format("  CPU of heaptap        {}", format_duration(figures.collector_cpu_ns));
  if (figures.events != 0)
    text += fmt::format(", {} an event", format_duration(figures.collector_cpu_ns / figures.events));
  text += fmt::format("\n  CPU of the program    {}\n", or_unknown(figures.target_cpu_ns, format_duration));
  if (is_traced) {
    text += fmt::format("  paused by the tracer  {}\n",
                        findings::pauses_text(figures.paused_by_tracer_ns, figures.time_ns).value_or("unknown"));
  }
  text += fmt::format("  lost events           {} of {}\n", format_count(figures.lost_events),
                      format_count(figures.events + figures.lost_events));
  return text + fmt::format("  {}, trace {}\n", log_text(figures), format_bytes(figures.trace_bytes));
}

base::Result<> show_info(ConsoleSession& session, const Words& arguments) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  const auto pid = session.pid_of(arguments, 0);
  if (!pid) return std::unexpected(pid.error());
  const auto settings = (*recording)->settings();
  if (!settings) return std::unexpected(settings.error());
  const auto figures = (*recording)->figures(*pid);
  if (!figures) return std::unexpected(figures.error());
  return session.print(settings_of_recording(*settings) +
                       cost_text(*figures, settings->via == "ptrace" || figures->paused_by_tracer_ns.has_value()));
}

// Terminal mode in which keys are delivered immediately, without echo.
class KeyMode {
 public:
  KeyMode() {
    if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    is_set_ = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
  }
  KeyMode(const KeyMode&) = delete;
  KeyMode& operator=(const KeyMode&) = delete;
  ~KeyMode() {
    if (is_set_) (void)tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

 private:
  termios before_{};
  bool is_set_ = false;
};

struct MonitorOptions {
  std::chrono::nanoseconds pause{std::chrono::seconds(2)};
  uint64_t times = 0;  // 0: until a key is pressed
};

base::Result<MonitorOptions> parse_monitor(const Words& arguments) {
  MonitorOptions options;
  if (arguments.size() > 2) return base::fail_as(base::ErrorKind::kUsage, "usage: monitor [SECONDS] [TIMES]");
  if (!arguments.empty()) {
    const auto pause = base::parse_duration(arguments[0]);
    if (!pause) return base::fail_as(base::ErrorKind::kUsage, "monitor: {}", pause.error().message);
    options.pause = std::chrono::nanoseconds(std::min<uint64_t>(*pause, INT32_MAX * uint64_t{1'000'000}));
  }
  if (arguments.size() == 2) {
    const auto times = parse_pid(arguments[1]);  // likewise a number above 0
    if (!times)
      return base::fail_as(base::ErrorKind::kUsage, "monitor: expected a number of times, got '{}'", arguments[1]);
    options.times = *times;
  }
  return options;
}

bool is_on_terminal() { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

// Waits. False: the user has quit. News are printed at once.
bool rest(ConsoleSession& session, std::chrono::nanoseconds pause, bool ends_by_key) {
  const auto end = std::chrono::steady_clock::now() + pause;
  const shell::InterruptsHeld interruptible;  // a key pressed before the wait isn't missed
  while (true) {
    if (shell::is_interrupted()) return false;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return true;
    std::array<pollfd, 2> waits{pollfd{.fd = ends_by_key ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
                                pollfd{.fd = session.news_descriptor(), .events = POLLIN, .revents = 0}};
    const timespec time{.tv_sec = left.count() / 1000, .tv_nsec = left.count() % 1000 * 1'000'000};
    if (ppoll(waits.data(), waits.size(), &time, &interruptible.outer()) < 0) continue;
    if (waits[1].revents != 0) print_error(session.take_news());
    if (waits[0].revents == 0) continue;
    char key = 0;
    (void)read(STDIN_FILENO, &key, 1);
    return false;
  }
}

// As many lines as the terminal has, minus one.
std::string first_screen(const std::string& text) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2) return text;
  size_t end = 0;
  for (int row = 1; row < size.ws_row; ++row) {
    const size_t newline = text.find('\n', end);
    if (newline == text.npos) return text;
    end = newline + 1;
  }
  return text.substr(0, end);
}

base::Result<> print_once(ConsoleSession& session, const ShowOptions& shown, bool clears) {
  const auto status = status_text(session);
  if (!status) return std::unexpected(status.error());
  const auto view = glance_text(session, shown);
  if (!view) return std::unexpected(view.error());
  const std::string text = fmt::format("{}\n{}", text::folded(*status, fold_width(STDOUT_FILENO)), *view);
  constexpr const char* kClear = "\x1b[H\x1b[2J";
  HEAPTAP_TRY(print_output(clears ? kClear + first_screen(text) : text));
  return {};
}

base::Result<> monitor(ConsoleSession& session, const Words& arguments) {
  const auto options = parse_monitor(arguments);
  if (!options) return std::unexpected(options.error());
  const bool has_keys = is_on_terminal();
  if (!has_keys && options->times == 0) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "monitor: no TIMES given; without a terminal it is `monitor SECONDS TIMES`");
  }
  const auto shown = last_view(session);
  if (!shown) return std::unexpected(shown.error());
  if (!*shown) return {};
  const char* const terminal = std::getenv("TERM");
  const bool clears = has_keys && terminal != nullptr && std::string_view(terminal) != "dumb";
  std::optional<KeyMode> keys;
  if (has_keys) keys.emplace();
  for (uint64_t done = 1;; ++done) {
    HEAPTAP_TRY(print_once(session, **shown, clears));
    if (options->times == done) return {};
    if (options->times == 0 && done == 1 && !clears) HEAPTAP_TRY(session.print("(press any key to stop)\n", false));
    if (!rest(session, options->pause, has_keys)) break;
  }
  shell::forget_interrupt();  // normal end
  return {};
}

}  // namespace

base::Result<std::string> status_text(ConsoleSession& session) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  const auto processes = (*recording)->processes();
  if (!processes) return std::unexpected(processes.error());
  std::string text;
  for (const client::Process& process : *processes) {
    const uint32_t only = session.settings.process;
    const auto is_later = [&](const client::Process& other) {
      return other.pid == process.pid && other.image > process.image;
    };
    // For a process that executed others, the figures of the last program are known.
    if ((only != 0 && process.pid != only) || std::ranges::any_of(*processes, is_later)) continue;
    auto one = status_of(**recording, process);
    if (!one) return one;
    text += *one;
  }
  if (text.empty())
    return base::fail("no process {} in this recording: `processes` lists them", session.settings.process);
  if (!(*recording)->is_live()) text += "A finished recording: it can be shown, not controlled.\n";
  return text;
}

std::vector<shell::Command> status_commands(ConsoleSession& session) {
  return {
      {.name = "status",
       .usage = "status",
       .summary = "print the state of the recording: time, events, memory, losses",
       .help = "  One paragraph per process, or only that of `set process`. The log is the memory shared by program "
               "and\n  heaptap: when it is full, the program waits or events are dropped.\n",
       .run = [&session](const Words&) -> base::Result<> {
         const auto text = status_text(session);
         return text ? session.print(*text) : std::unexpected(text.error());
       }},
      {.name = "processes",
       .usage = "processes",
       .summary = "list the recorded processes and their traces",
       .help = "  A process that executed other programs has a line for each, numbered by IMAGE.\n",
       .run = [&session](const Words&) { return list_processes(session); }},
      {.name = "marks",
       .usage = "marks [PID]",
       .summary = "list the marks, and when recording was switched off and on",
       .help = "  Their times are those of `show --from TIME` and `--to TIME`.\n",
       .run = [&session](const Words& words) { return list_marks(session, words); },
       .complete = pid_words(session)},
      {.name = "info",
       .usage = "info [PID]",
       .summary = "show how the process is recorded, and the cost",
       .help = "  CPU time of heaptap, in total and per event, lost events, and how long the tracer paused "
               "the program.\n  `set` alone shows the settings of this console.\n",
       .run = [&session](const Words& words) { return show_info(session, words); },
       .complete = pid_words(session)},
      {.name = "monitor",
       .usage = "monitor [SECONDS] [TIMES]",
       .summary = "repeat status and the last view until a key is pressed",
       .help = "  Every 2 seconds by default. The view is that of the last `show`, at first the summary.\n  It shows "
               "the events counted so far, without waiting for more. A script has to give TIMES: `monitor 1 3`.\n",
       .run = [&session](const Words& words) { return monitor(session, words); }},
  };
}

}  // namespace heaptap::app
