// Console commands for reports: with the options of `heaptap show`, and short ones.
#include <algorithm>
#include <filesystem>

#include "analysis/findings/amount_text.h"
#include "analysis/report/view.h"
#include "apps/heaptap/console/console_commands.h"
#include "apps/heaptap/options/command_options.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::app {
namespace {

using shell::Words;

bool has_option(const Words& arguments, std::string_view letter, std::string_view name) {
  return std::ranges::any_of(arguments, [&](const std::string& word) {
    const bool is_short = word.starts_with(letter) && !word.starts_with("--");
    return is_short || word == name || word.starts_with(std::string(name) + "=");
  });
}

Words console_view_names() {
  const auto help = parse_show({"--help"}, {});
  if (!help || !std::holds_alternative<PrintText>(*help)) return {};
  const auto& options = std::get<PrintText>(*help).options;
  const auto views = std::ranges::find_if(options, [](const KnownOption& option) { return option.names.empty(); });
  return views == options.end() ? Words() : views->words;
}

// A view may be abbreviated if it is the first word.
base::Result<Words> with_whole_view(Words arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return arguments;
  std::error_code error;
  if (std::filesystem::exists(arguments.front(), error)) return arguments;
  auto view = shell::whole_name(arguments.front(), console_view_names(), "view");
  if (!view) return std::unexpected(std::move(view).error());
  arguments.front() = *std::move(view);
  return arguments;
}

// Options; none if help was printed. They are of one command, which connects to a symbol server once.
base::Result<std::optional<ShowOptions>> parse(ConsoleSession& session, const Words& words) {
  const auto arguments = with_whole_view(words);
  if (!arguments) return std::unexpected(arguments.error());
  const auto parsed = parse_show(*arguments, session.defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (const auto* const help = std::get_if<PrintText>(&*parsed)) {
    HEAPTAP_TRY(session.print(help->text));
    return std::nullopt;
  }
  auto options = std::get<ShowOptions>(*parsed);
  fill_in(session.settings, *arguments, options);
  return options;
}

base::Result<> show_view(ConsoleSession& session, const Words& arguments) {
  const auto options = parse(session, arguments);
  if (!options) return std::unexpected(options.error());
  if (!*options) return {};
  if (!(*options)->trace.empty()) return show_trace(**options);
  HEAPTAP_TRY(show(**options, [&](const query::Query& query) { return session.report_for(**options, query); }));
  session.last_view = arguments;
  return {};
}

base::Result<> dump(ConsoleSession& session, const Words& arguments) {
  Words words{"top", "--count", "4294967295"};
  size_t place = 0;
  if (!arguments.empty() && !parse_pid(arguments.front())) {
    const auto key = shell::whole_name(arguments.front(), query::sort_key_names(), "sort key");
    if (!key) return std::unexpected(key.error());
    words.insert(words.end(), {"--sort", *key});
    place = 1;
  }
  const auto pid = session.pid_of(arguments, place);
  if (!pid) return std::unexpected(pid.error());
  if (*pid != 0) words.insert(words.end(), {"--process", std::to_string(*pid)});
  return show_view(session, words);
}

base::Result<> show_scan(ConsoleSession& session, uint32_t pid, uint32_t number) {
  ShowOptions options;
  options.view = report::View::kLeaks;
  fill_in(session.settings, {}, options);
  options.process = pid;
  options.query.leaks.scan = number;
  options.query.listing.limit = 3;
  return show(options, [&](const query::Query& query) { return session.report_for(options, query); });
}

std::string new_losses(const report::LossChange& change, uint32_t since) {
  std::string text = fmt::format("{} lost, allocated since scan {}", findings::amount(change.allocated), since);
  if (change.older.blocks != 0) text += fmt::format("; {} allocated before", findings::amount(change.older));
  return text;
}

base::Result<> show_scan_change(ConsoleSession& session, uint32_t pid, const client::ScanResult& scan,
                                client::ScanKind kind) {
  ShowOptions options;
  query::Query query;
  query.listing.stacks = query.counting.statistics = query.counting.lifetimes = false;
  query.leaks.scan = scan.number;
  query.leaks.since = scan.since;
  options.process = pid;
  const auto report = session.report_for(options, query);
  if (!report) return std::unexpected(report.error());
  if (!report->scan_changes) return show_scan(session, pid, scan.number);
  const report::LossChange& change = report->scan_changes->total;
  const std::string what = kind == client::ScanKind::kNew
                               ? new_losses(change, scan.since)
                               : fmt::format("{} still lost, {} no longer", findings::amount(change.remained),
                                             findings::amount(change.gone));
  const char* const doubt = report->known.leaks ? "" : " (there may be more: `status`)";
  return session.print(
      fmt::format("Scan {}: {}{}\n`show leaks --since {}` lists them\n", scan.number, what, doubt, scan.since));
}

base::Result<> scan(ConsoleSession& session, const Words& arguments) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  size_t place = 0;
  auto kind = client::ScanKind::kAll;
  if (!arguments.empty() && !parse_pid(arguments.front())) {
    const auto word = shell::whole_name(arguments.front(), {"all", "new", "lost"}, "kind of scan");
    if (!word) return std::unexpected(word.error());
    kind = *word == "all" ? client::ScanKind::kAll : *word == "new" ? client::ScanKind::kNew : client::ScanKind::kLost;
    place = 1;
  }
  const auto pid = session.pid_of(arguments, place);
  if (!pid) return std::unexpected(pid.error());
  const auto control = client::control_of(**recording, "scan");
  if (!control) return std::unexpected(control.error());
  const auto result = (*control)->scan(*pid, kind);
  if (!result) return std::unexpected(result.error());
  if (kind == client::ScanKind::kAll || result->since == 0) return show_scan(session, *pid, result->number);
  return show_scan_change(session, *pid, *result, kind);
}

// Each command connects to the server again, which may have been restarted.
void fill_in_sources(const ConsoleSettings& settings, symbols::ResolverOptions& sources) {
  std::vector<std::string>& directories = sources.symbol_directories;
  directories.insert(directories.end(), settings.search_path.begin(), settings.search_path.end());
  if (sources.server == nullptr && settings.symbols_server != nullptr) sources.server = settings.symbols_server->anew();
}

base::Result<> export_as(ConsoleSession& session, const Words& arguments) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  Words words = arguments;
  if (!words.empty() && !words.front().starts_with('-')) words.insert(words.begin(), "--to");
  const auto parsed = parse_export(words, session.defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (const auto* const help = std::get_if<PrintText>(&*parsed)) return session.print(help->text);
  auto options = std::get<ExportOptions>(*parsed);
  if (options.trace.empty()) {
    const uint32_t image = options.image != 0 ? options.image : session.settings.image;
    const auto trace = (*recording)->trace_file({session.settings.process, image});
    if (!trace) return std::unexpected(trace.error());
    options.trace = *trace;
    options.image = 0;
  }
  const ConsoleSettings& settings = session.settings;
  fill_in_sources(settings, options.query.symbols);
  return export_trace(std::move(options));
}

Words export_words(const Words& arguments) {
  if (!arguments.empty()) return {};
  const auto help = parse_export({"--help"}, {});
  if (!help || !std::holds_alternative<PrintText>(*help)) return {};
  for (const KnownOption& option : std::get<PrintText>(*help).options) {
    if (std::ranges::find(option.names, "--to") != option.names.end()) return option.words;
  }
  return {};
}

Words dump_words(ConsoleSession& session, const Words& arguments) {
  Words words = session.pids();
  if (arguments.empty()) std::ranges::copy(query::sort_key_names(), std::back_inserter(words));
  return words;
}

}  // namespace

void fill_in(const ConsoleSettings& settings, const Words& arguments, ShowOptions& options) {
  query::Query& query = options.query;
  if (settings.sort && !options.sorted) {
    query.listing.sort = settings.sort;
    options.sorted = true;
  }
  if (!has_option(arguments, "-n", "--count")) query.listing.limit = settings.count;
  if (!has_option(arguments, "-d", "--depth")) query.listing.frames.depth = settings.frames;
  if (!has_option(arguments, "--color", "--color")) options.color = settings.color;
  // For another process than the selected one, another program may be meant.
  if (options.image == 0 && (options.process == 0 || options.process == settings.process))
    options.image = settings.image;
  query.filter.skip.insert(query.filter.skip.end(), settings.skip.begin(), settings.skip.end());
  fill_in_sources(settings, query.symbols);
  if (!settings.pager) options.no_pager = true;
}

base::Result<std::optional<ShowOptions>> last_view(ConsoleSession& session) {
  return parse(session, session.last_view);
}

base::Result<std::string> glance_text(ConsoleSession& session, const ShowOptions& options) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  const uint32_t pid = options.process != 0 ? options.process : session.settings.process;
  const client::ProgramId program{pid, options.image};
  return shown_text(options, [&](const query::Query& query) { return (*recording)->glance(program, query); });
}

std::vector<shell::Command> report_commands(ConsoleSession& session) {
  return {
      {.name = "show",
       .usage = "show VIEW [OPTIONS]",
       .summary = "print a view of the recording so far, like `heaptap show`",
       .help = "  Views: summary, leaks, top, tree, stats, sizes, lifetimes, timeline, blocks, fragmentation; the name "
               "may be "
               "abbreviated.\n"
               "  The options are those of the command line (`show --help`), including --process PID; `set` changes "
               "some\n  defaults. Another trace can be named: `show leaks other.htap`.\n",
       .run = [&session](const Words& words) { return show_view(session, words); },
       .complete = [&session](const Words& words,
                              const std::string& word) { return show_words(session, words, word); }},
      {.name = "scan",
       .usage = "scan [all|new|lost] [PID]",
       .summary = "scan the memory for leaks now",
       .help = "  all: all leaks, listing the largest. new: leaked blocks that were allocated since the previous scan, "
               "with the\n  number of older ones leaked since then. lost: leaks of the previous scan that are still "
               "lost.\n  The process is paused during the scan. `show leaks` lists the leaks, `show leaks --scans` all "
               "scans.\n",
       .run = [&session](const Words& words) { return scan(session, words); },
       .complete = pid_words(session, {"all", "new", "lost"})},
      {.name = "dump",
       .usage = "dump [KEY] [PID]",
       .summary = "print all stacks, sorted by KEY",
       .help = "  Like `show top --sort KEY`, but all stacks; usually redirected by `> FILE`.\n  The default KEY is "
               "that of `set sort`, else usage.\n",
       .run = [&session](const Words& words) { return dump(session, words); },
       .complete = [&session](const Words& words, const std::string&) { return dump_words(session, words); }},
      {.name = "report",
       .usage = "report N",
       .summary = "print one stack: its figures, all frames, and what points to its blocks",
       .help = "  N is its number in the lists, as in `report 12` or `report #12`.\n  What points to its blocks is "
               "known only after a leak scan.\n",
       .run = [&session](const Words& words) { return report_stack(session, words); }},
      {.name = "export",
       .usage = "export FORMAT [OPTIONS] [> FILE]",
       .summary = "print the recording so far in the format of another tool",
       .help = "  Formats and options are those of `heaptap export` (`export --help`); sqlite needs -o FILE.\n"
               "  For example: `export pprof > now.pb.gz`, `export folded | flamegraph.pl > now.svg`.\n",
       .run = [&session](const Words& words) { return export_as(session, words); },
       .complete = [](const Words& words, const std::string&) { return export_words(words); }},
  };
}

}  // namespace heaptap::app
