#include "views/shell/shell.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

#include "common/base/exit_status.h"
#include "common/base/wait_status.h"
#include "views/shell/file_names.h"
#include "views/shell/interrupts.h"
#include "views/shell/redirected_output.h"

namespace heaptap::shell {
namespace {

constexpr int kInterruptedStatus = base::shell_status_of(SIGINT);

// Scope in which SIGPIPE is ignored: a command isn't killed when its reader has exited.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    struct sigaction action{};
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, &before_);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal() { (void)sigaction(SIGPIPE, &before_, nullptr); }

 private:
  struct sigaction before_{};
};

std::string help_of(const Command& command) {
  std::string text = fmt::format("{}\n  {}\n", command.usage, command.summary);
  if (!command.help.empty()) text += command.help;
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::string list_of(const std::vector<Command>& commands) {
  size_t width = 0;
  for (const Command& command : commands) width = std::max(width, command.name.size());
  std::string text;
  for (const Command& command : commands) text += fmt::format("  {:<{}}  {}\n", command.name, width, command.summary);
  return text +
         "\nNames may be abbreviated. After any command: > FILE, >> FILE, >| FILE (replaces it), | COMMAND.\n"
         "`help COMMAND` describes one.\n";
}

}  // namespace

Shell::Shell(Callbacks callbacks) : callbacks_(std::move(callbacks)) {
  commands_.add(help_command());
  commands_.add(quit_command());
}

Command Shell::help_command() {
  return {.name = "help",
          .usage = "help [COMMAND]",
          .summary = "list the commands, or describe one",
          .help = "",
          .run = [this](const Words& arguments) -> base::Result<> {
            if (arguments.empty()) return callbacks_.print(list_of(commands_.commands()));
            const auto command = commands_.find(arguments.front());
            if (!command) return std::unexpected(command.error());
            return callbacks_.print(help_of(**command));
          },
          .complete = [this](const Words&, const std::string&) { return commands_.names(); },
          .aliases = {"?"}};
}

Command Shell::quit_command() {
  return {.name = "quit",
          .usage = "quit",
          .summary = "end the console; recordings continue",
          .help = "  Same as `exit` and Ctrl-D.\n",
          .run = [this](const Words&) -> base::Result<> {
            is_ended_ = true;
            return {};
          },
          .aliases = {"exit"}};
}

int Shell::failed(const base::Error& error) const {
  callbacks_.complain(error.message + "\n");
  return base::exit_status_of(error.kind);
}

void Shell::tell_news() const {
  if (const std::string text = callbacks_.news.taken(); !text.empty()) callbacks_.complain(text);
}

int Shell::execute(std::string_view text) try {
  const auto line = parse_line(text);
  if (!line) return failed(line.error());
  if (line->words.empty()) return 0;
  const auto command = commands_.find(line->words.front());
  if (!command) return failed(command.error());
  return run_redirected(**command, *line);
} catch (const Interrupted&) {
  callbacks_.complain("interrupted\n");
  return kInterruptedStatus;
} catch (const std::exception& error) {
  callbacks_.complain(fmt::format("internal error: {}\n", error.what()));
  return base::kExitFailed;
}

int Shell::run_redirected(const Command& command, const Line& line) {
  const NoPipeSignal no_signal;
  auto output = RedirectedOutput::begin(line.redirection, line.target);
  if (!output) return failed(output.error());
  const base::Result<> ran = command.run({line.words.begin() + 1, line.words.end()});
  const bool has_worked = ran || output->is_left();
  const auto status = output->end(has_worked);
  if (!has_worked) return failed(ran.error());
  return status ? *status : failed(status.error());
}

int Shell::run(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const int status = execute(line);
    tell_news();
    if (status != 0 || is_ended_) return status;
  }
  return 0;
}

int Shell::run_script(int descriptor) {
  ScriptReader reader(descriptor);
  while (!is_ended_) {
    const auto line = reader.next([this] { return callbacks_.news.wait_for(); }, [this] { tell_news(); });
    if (!line) return failed(line.error());
    if (!*line) break;
    if (const int status = run({**line}); status != 0) return status;
  }
  return 0;
}

int Shell::interact(const HistoryFile& history) {
  const InterruptWatch watch(callbacks_.on_interrupt);
  LineEditor editor({.prompt = callbacks_.prompt,
                     .complete = [this](const std::string& before) { return complete(before); },
                     .news = callbacks_.news});
  for (const std::string& line : history.load()) editor.remember(line);
  while (!is_ended_) {
    std::string line;
    const LineEditor::Outcome outcome = editor.read(line);
    forget_interrupt();  // one that came while no command ran
    if (outcome == LineEditor::Outcome::kEnd) {
      (void)callbacks_.print("\n");
      break;
    }
    if (outcome == LineEditor::Outcome::kInterrupted || line.find_first_not_of(" \t") == line.npos) continue;
    editor.remember(line);
    history.add(line);
    (void)execute(line);
  }
  return 0;
}

Completion Shell::complete(const std::string& before_cursor) const {
  Completion completion{.line = partial_line(before_cursor), .words = {}};
  const PartialLine& line = completion.line;
  Words words;
  if (line.redirection != Redirection::kNone) {
    words = file_names(line.word);
  } else if (line.words.empty()) {
    words = commands_.names();
  } else if (const auto command = commands_.find(line.words.front()); command && (*command)->complete) {
    words = (*command)->complete({line.words.begin() + 1, line.words.end()}, line.word);
  }
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(line.word); });
  std::ranges::sort(words);
  const auto repeated = std::ranges::unique(words);
  words.erase(repeated.begin(), repeated.end());
  completion.words = std::move(words);
  return completion;
}

}  // namespace heaptap::shell
