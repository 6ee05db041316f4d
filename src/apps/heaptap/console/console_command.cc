#include "apps/heaptap/console/console_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <set>
#include <string_view>

#include "analysis/symbols/stop_transfer.h"
#include "apps/heaptap/commands/offers.h"
#include "apps/heaptap/console/console_commands.h"
#include "apps/heaptap/console/console_connection.h"
#include "apps/heaptap/console/console_session.h"
#include "common/base/exit_status.h"
#include "common/base/whole_number.h"
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

// On a terminal, by its number in the list.
base::Result<client::Offer> choose(const std::vector<client::Offer>& offers) {
  fmt::print("Several recordings are running:\n{}", offers_text(offers));
  while (true) {
    fmt::print("Which one (1 to {})? ", offers.size());
    (void)std::fflush(stdout);
    std::string line;
    if (!std::getline(std::cin, line)) return base::fail_as(base::ErrorKind::kUsage, "no recording chosen");
    const auto number = base::whole_number<size_t>(line);
    if (number && *number >= 1 && *number <= offers.size()) return offers[*number - 1];
  }
}

// The running recording if none was named; null: there is none.
Connected connect_to_offered(const ConsoleOptions& options) {
  const std::vector<client::Offer> offers = one_of_each(offers_of(options.machine.host));
  if (offers.empty()) return nullptr;
  if (offers.size() == 1) return connect_to(offers.front());
  if (!is_typed(options)) {
    return base::fail_as(base::ErrorKind::kUsage, "several recordings are running: name one, by its PID\n{}",
                         offers_text(offers));
  }
  const auto chosen = choose(offers);
  if (!chosen) return std::unexpected(chosen.error());
  return connect_to(*chosen);
}

std::string greeting(ConsoleSession& session) {
  if (const auto recording = session.recording(); !recording) return recording.error().message + "\n";
  const auto status = status_text(session);
  return (status ? *status : status.error().message + "\n") + "`help` lists the commands.\n";
}

base::Result<int> run_console(const ConsoleOptions& options) {
  ConsoleSession session;
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
  auto recording =
      options.target.empty() ? connect_to_offered(options) : connect_to(options.target, options.machine.host);
  if (!recording) return std::unexpected(std::move(recording).error());
  session.take(*std::move(recording));
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

}  // namespace

int perform(const ConsoleOptions& options) {
  const auto status = run_console(options);
  if (status) return *status;
  print_complaint(status.error().message + "\n");
  return base::exit_status_of(status.error().kind);
}

}  // namespace heaptap::app
