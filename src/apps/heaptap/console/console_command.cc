#include "apps/heaptap/console/console_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <set>
#include <string_view>

#include "analysis/symbols/stop_transfer.h"
#include "apps/heaptap/commands/offers.h"
#include "apps/heaptap/commands/session_recorder.h"
#include "apps/heaptap/console/console_choice.h"
#include "apps/heaptap/console/console_commands.h"
#include "apps/heaptap/console/console_connection.h"
#include "apps/heaptap/console/console_session.h"
#include "common/base/exit_status.h"
#include "common/base/safe_text.h"
#include "common/channel/token.h"
#include "views/shell/shell.h"
#include "views/text/fold.h"

namespace heaptap::app {
namespace {

using Connected = base::Result<std::unique_ptr<client::Recording>>;

void print_complaint(std::string_view text) {
  print_error(text::folded("heaptap: " + std::string(text), fold_width(STDERR_FILENO), "heaptap: "));
}

bool is_typed(const ConsoleOptions& options) {
  return options.commands.empty() && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

std::string offers_text(const std::vector<client::Offer>& offers) {
  std::string text;
  for (size_t i = 0; i < offers.size(); ++i) {
    text += fmt::format("  {})  {}  {}\n", i + 1, words_of(offers[i]), program_text(offers[i]));
  }
  return text;
}

// Processes that are recorded together are one recording, represented by the first of them.
std::vector<client::Offer> one_of_each(const std::vector<client::Offer>& offers) {
  std::vector<client::Offer> found;
  std::set<pid_t> recorders;
  for (const client::Offer& offer : offers) {
    if (offer.recorder == 0 || recorders.insert(offer.recorder).second) found.push_back(offer);
  }
  return found;
}

// Recording that the console begins with.
struct ConsoleStart {
  std::unique_ptr<client::Recording> recording;  // null: none
  std::unique_ptr<SessionRecorder> recorder;     // of a recording that ends with the console
  std::string trace;                             // of that
  bool is_quit = false;                          // the user wants none at all
};

// The user's answer on a terminal.
base::Result<Choice> choose(const std::vector<client::Offer>& offers) {
  fmt::print("Several recordings are running:\n{}", offers_text(offers));
  while (true) {
    fmt::print("Which one (1 to {}; none; q)? ", offers.size());
    (void)std::fflush(stdout);
    std::string line;
    if (!std::getline(std::cin, line)) return base::fail_as(base::ErrorKind::kUsage, "no recording chosen");
    Choice choice = choice_of(line, offers);
    if (choice.kind != Choice::Kind::kExplain) return choice;
    print_complaint(choice.text + "\n");
  }
}

base::Result<ConsoleStart> begin_with(Connected recording) {
  if (!recording) return std::unexpected(std::move(recording).error());
  return ConsoleStart{.recording = *std::move(recording), .recorder = nullptr, .trace = ""};
}

// The running recording if none was named.
base::Result<ConsoleStart> begin_with_offered(const ConsoleOptions& options) {
  const std::vector<client::Offer> offers = one_of_each(offers_of(options.machine.host));
  if (offers.empty()) return ConsoleStart{};
  if (offers.size() == 1) return begin_with(connect_to(offers.front()));
  if (!is_typed(options)) {
    return base::fail_as(base::ErrorKind::kUsage, "several recordings are running: name one, by its PID\n{}",
                         offers_text(offers));
  }
  const auto choice = choose(offers);
  if (!choice) return std::unexpected(choice.error());
  if (choice->kind == Choice::Kind::kOffer) return begin_with(connect_to(offers[choice->offer]));
  ConsoleStart none;
  none.is_quit = choice->kind == Choice::Kind::kQuit;
  return none;
}

// A process that isn't being recorded is, until the console ends.
base::Result<ConsoleStart> begin_with_process(const ConsoleOptions& options, uint32_t pid) {
  auto known = recording_of(options.machine, pid);
  if (!known || *known != nullptr) return begin_with(std::move(known));
  auto recorder = SessionRecorder::attach_to(options.machine, pid, {.keeps_trace = true});
  if (!recorder) return std::unexpected(std::move(recorder).error());
  auto recording = (*recorder)->connect([] { return poll(nullptr, 0, SessionRecorder::kMsBetweenTries) == 0; });
  if (!recording) return begin_with(recording_instead(options.machine, pid, recording.error()));
  const auto processes = (*recording)->processes();
  if (!processes) return std::unexpected(processes.error());
  const std::string trace = processes->empty() ? "" : processes->front().trace;
  print_complaint(fmt::format("process {} wasn't being recorded: attached to it until this console ends; trace: {}\n",
                              pid, base::safe_text(trace)));
  return ConsoleStart{.recording = *std::move(recording), .recorder = *std::move(recorder), .trace = trace};
}

base::Result<ConsoleStart> begin(const ConsoleOptions& options) {
  if (options.target.empty()) return begin_with_offered(options);
  const auto pid = process_of(options.target);
  if (!pid) return std::unexpected(pid.error());
  return *pid != 0 ? begin_with_process(options, *pid) : begin_with(connect_to(options.target, options.machine.host));
}

// The trace is complete afterwards.
void end(ConsoleStart& beginning, ConsoleSession& session) {
  if (beginning.recorder == nullptr) return;
  session.take(nullptr);
  beginning.recorder->end();
  print_complaint(
      fmt::format("the recording of this console has ended; its trace is {}\n", base::safe_text(beginning.trace)));
}

std::string greeting(ConsoleSession& session) {
  if (const auto recording = session.recording(); !recording) return recording.error().message + "\n";
  const auto status = status_text(session);
  return (status ? *status : status.error().message + "\n") + "`help` lists the commands.\n";
}

void take_options(const ConsoleOptions& options, ConsoleSession& session) {
  session.settings.pager = !options.no_pager;
  session.settings.color = options.color;
  session.settings.search_path = options.symbols;
  session.settings.search_path.insert(session.settings.search_path.end(), options.sysroots.begin(),
                                      options.sysroots.end());
  session.settings.symbols_server = options.symbols_server;
  session.defaults = options.defaults;
  session.machine = options.machine;
  // The reader of the variable removes it from the environment.
  if (const char* const token = std::getenv(channel::Token::kVariable))
    session.recorder_environment.push_back(fmt::format("{}={}", channel::Token::kVariable, token));
}

base::Result<int> run_commands(const ConsoleOptions& options, ConsoleSession& session) {
  shell::Shell shell({.prompt = [&session] { return session.prompt(); },
                      .print = [&session](std::string_view text) { return session.print(text); },
                      .complain = print_complaint,
                      .news = {.descriptor = [&session] { return session.news_descriptor(); },
                               .take = [&session] { return session.take_news(); }},
                      .on_interrupt = [](int number) { (void)symbols::stop_transfer(number); }});
  for (const auto& group : {status_commands, report_commands, steering_commands, settings_commands, program_commands}) {
    shell.commands().add(group(session));
  }
  if (!options.commands.empty()) return shell.run(options.commands);
  if (!is_typed(options)) return shell.run_script(STDIN_FILENO);
  HEAPTAP_TRY(session.print(greeting(session), false));
  return shell.interact(shell::HistoryFile(shell::usual_history_path()));
}

base::Result<int> run_console(const ConsoleOptions& options) {
  ConsoleSession session;
  take_options(options, session);
  auto beginning = begin(options);
  if (!beginning) return std::unexpected(std::move(beginning).error());
  if (beginning->is_quit) return 0;
  session.take(std::move(beginning->recording));
  auto status = run_commands(options, session);
  end(*beginning, session);
  return status;
}

}  // namespace

int perform(const ConsoleOptions& options) {
  const auto status = run_console(options);
  if (status) return *status;
  print_complaint(status.error().message + "\n");
  return base::exit_status_of(status.error().kind);
}

}  // namespace heaptap::app
