// Options of `heaptap top`.
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/commands/top_connection.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/options/command_options.h"
#include "common/base/whole_number.h"
#include "views/top/key_help.h"
#include "views/top/output.h"

namespace heaptap::app {
namespace {

constexpr const char* kTopUsage = "heaptap top [options] [PID|SOCKET|TRACE|[--] PROGRAM [ARG...]]";

// Whether the word is a process or a trace, not a program.
bool names_target(const std::string& word) {
  return base::is_digits(word) || is_trace(word) || word.ends_with(".run") || is_socket(word);
}

std::string key_list() {
  std::string text = "Keys:\n";
  for (const top::KeyHelp& key : top::kKeyHelp) text += fmt::format("  {:<26}{}\n", key.keys, key.what);
  return text;
}

}  // namespace

base::Result<Command> parse_top(const Arguments& arguments, const Defaults& defaults) {
  TopOptions options;
  OptionSet set("top", "Show a process's memory live, on the screen", kTopUsage);
  set.group(OptionGroup::kOutput);
  set.flag("--once", options.once, "Print one picture and end (default where stdout is not a terminal)");
  set.flag("--json", options.json, "Print a JSON object for each sample, one a line");
  set.text("-o,--output", options.output, "Keep the trace of a recording that top starts").value_name("FILE");
  add_color(set, options.color);
  set.group(OptionGroup::kProcesses);
  set.number("--process", options.settings.pid, "Of several processes: begin with this one", 1).value_name("PID");
  add_image(set, options.settings.image);
  set.group(OptionGroup::kReport);
  set.duration("--delay", options.settings.delay_ns, "Time between two samples (default: 1s)");
  set.number("--count", options.settings.count, "End after N samples", 1);
  set.number("-n,--rows", options.settings.rows, "Print at most N stacks (--once: 20, --json: 10)", 1, 10'000);
  set.choice(
         "--sort", top::figure_words(),
         [&options](const std::string& word) { options.settings.sort = top::figure_of(word); },
         "Sort by live (default), blocks, growth, rate, calls, age, lifetime, temporary or leaked")
      .value_name("COLUMN");
  set.text("--filter", options.settings.filter, "Only stacks with this text in a function or a module")
      .value_name("NAME");
  add_machine(set, options.machine, "The process is on the machine where heaptap-target waits at ADDRESS");
  const auto server = add_symbol_sources(set, options.settings.names_from.symbols, {.has_token = false});
  add_skip(set, options.settings.names_from.filter.skip);
  add_ignore(set, options.settings.names_from.filter.ignores);
  add_config(set);
  set.most_used({"--once", "--json", "--delay", "-n", "--sort", "--filter", "-o", "-H"});
  set.footer(key_list());
  const auto begin = program_begin(set, arguments);
  const auto split = arguments.begin() + static_cast<std::ptrdiff_t>(begin);
  Arguments own(arguments.begin(), split);
  Arguments program(split, arguments.end());
  if (!program.empty() && names_target(program.front())) {
    // All words after it are of `top`, too.
    options.target = program.front();
    own.insert(own.end(), program.begin() + 1, program.end());
    program.clear();
  } else if (!program.empty() && program.front() == "--") {
    program.erase(program.begin());
  }
  options.command = std::move(program);
  const auto parsed = parse_with(set, own, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  server->set_token_file(options.machine.token_file);
  constexpr uint64_t kLeastDelay = 50'000'000;
  if (options.settings.delay_ns < kLeastDelay) {
    return base::fail_as(base::ErrorKind::kUsage, "top: --delay: at least 50ms\nusage: {}", kTopUsage);
  }
  if (options.once && options.json) {
    return base::fail_as(base::ErrorKind::kUsage, "top: --once or --json (--json --count 1 is both)\nusage: {}",
                         kTopUsage);
  }
  return options;
}

}  // namespace heaptap::app
