// Options of `heaptap show`.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include "analysis/symbols/downloads.h"
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/options/command_options.h"
#include "common/base/nearest_word.h"
#include "common/base/whole_number.h"
#include "views/json/render_json.h"

namespace heaptap::app {
namespace {

using report::View;

constexpr const char* kShowUsage = "heaptap show [VIEW] [TRACE] [--json] [options]";
constexpr std::array<std::pair<const char*, View>, 10> kViews{{{"summary", View::kSummary},
                                                               {"leaks", View::kLeaks},
                                                               {"top", View::kTop},
                                                               {"tree", View::kTree},
                                                               {"stats", View::kStats},
                                                               {"sizes", View::kSizes},
                                                               {"lifetimes", View::kLifetimes},
                                                               {"timeline", View::kTimeline},
                                                               {"blocks", View::kBlocks},
                                                               {"fragmentation", View::kFragmentation}}};

std::vector<std::string> view_names() {
  std::vector<std::string> names;
  for (const auto& [name, view] : kViews) names.emplace_back(name);
  return names;
}

base::Result<View> view_of(const std::string& name) {
  for (const auto& [known, view] : kViews) {
    if (name == known) return view;
  }
  const std::vector<std::string> names = view_names();
  return base::fail_as(base::ErrorKind::kUsage,
                       "show: unknown view '{}'{}: use one of {}; no trace has that name\nusage: {}", name,
                       base::suggestion(name, names), fmt::join(names, ", "), kShowUsage);
}

bool is_view(const std::string& name) {
  return std::ranges::any_of(kViews, [&](const auto& view) { return name == view.first; });
}

}  // namespace

void add_name_filters(OptionSet& set, query::Filter& filter) {
  set.group(OptionGroup::kReport);
  add_pattern(set, "--function", filter.function,
              "Only stacks with this function: a part of a name, or a regular expression");
  add_pattern(set, "--module", filter.module,
              "Only stacks with this module: a part of a name, or a regular expression");
  set.list("--tag", filter.tags,
           "Only allocations under a tag of this name (a part of it, or of request/parse, or a regular expression)")
      .value_name("NAME");
  set.number("--thread", filter.thread, "Only what thread N allocated (`show stats` numbers them)", 1);
}

void add_time_filters(OptionSet& set, query::Window& window) {
  set.group(OptionGroup::kReport);
  set.text("--from", window.from, "Only allocations from this time (1.5s), mark (NAME, NAME:2, #7) or peak on")
      .value_name("MOMENT");
  set.text("--to", window.to, "State at this time, mark or peak").value_name("MOMENT");
}

std::shared_ptr<SymbolsServer> add_symbol_sources(OptionSet& set, symbols::ResolverOptions& symbols,
                                                  const SymbolSources& sources) {
  set.group(OptionGroup::kSymbols);
  set.list("--symbols", symbols.symbol_directories, "Search for debug information below DIR").value_name("DIR");
  set.list("--sysroot", symbols.sysroots, "Search for the target's files below DIR").value_name("DIR");
  symbols.debuginfod = sources.asks_debuginfod && symbols::has_debuginfod_servers();
  set.flag("--debuginfod", symbols.debuginfod,
           sources.asks_debuginfod ? "Ask the servers of $DEBUGINFOD_URLS (the default where it is set)"
                                   : "Ask the servers of $DEBUGINFOD_URLS, and keep their files in the user's cache");
  set.flag("--no-debuginfod", [&symbols] { symbols.debuginfod = false; }, "Ask no such server");
  const auto store = [&symbols](std::shared_ptr<SymbolsServer> server) { symbols.server = std::move(server); };
  return add_symbols_server(set, store, sources.has_token);
}

std::shared_ptr<SymbolsServer> add_symbols_server(OptionSet& set,
                                                  std::function<void(std::shared_ptr<SymbolsServer>)> store,
                                                  bool has_token) {
  const auto made = std::make_shared<SymbolsServer>();
  const auto parse = [made, store = std::move(store)](const std::string& address) -> base::Result<> {
    HEAPTAP_TRY(made->set_address(address));
    store(made);
    return {};
  };
  set.group(OptionGroup::kSymbols);
  set.parsed("--symbols-server", parse, "Ask `heaptap symbols serve` at ADDRESS for what isn't found here")
      .value_name("ADDRESS");
  if (!has_token) return made;
  const auto take_token = [made](const std::string& path) -> base::Result<> {
    made->set_token_file(path);
    return {};
  };
  set.group(OptionGroup::kRemote);
  set.parsed("--token-file", take_token, kTokenHelp).value_name("FILE");
  return made;
}

Option add_image(OptionSet& set, uint32_t& image) {
  set.group(OptionGroup::kProcesses);
  return set.number("--image", image, "Of a process that executed others: its N-th program (default: the last one)", 1);
}

void add_leak_options(OptionSet& set, ShowOptions& options) {
  set.group(OptionGroup::kReport);
  set.number("--scan", options.query.leaks.scan, "Leaks of the scan with this number (default: the last one)", 1);
  add_root_kinds(set, options.query.leaks.options.roots);
  add_tagged_pointers(set, options.query.leaks.options.heuristics);
  add_suppressions(set, options.suppressions, options.query.leaks.carried_suppressions);
}

namespace {

// Options with optional values; empty if not given.
struct OptionTexts {
  std::string syntax;
  std::string retained_by;
  std::string since;
  std::string open;
};

// These show something other than the list of leaks.
void add_leak_views(OptionSet& set, ShowOptions& options, OptionTexts& texts) {
  query::LeakQuestion& leaks = options.query.leaks;
  set.group(OptionGroup::kReport);
  set.optional_text("--gen-suppressions", "valgrind", texts.syntax,
                    "leaks: print suppressions for the leaks listed, in Valgrind's syntax (default) or LeakSanitizer's")
      .offer({"valgrind", "lsan"});
  const auto parse_why = [&leaks](const std::string& text) -> base::Result<> {
    const auto question = query::parse_block_question(text);
    if (!question) return std::unexpected(question.error());
    leaks.why = *question;
    return {};
  };
  set.parsed("--why", parse_why,
             "leaks: what points to the block at this address (0x...), block (#b12) or largest block of a stack (#12)")
      .value_name("WHAT");
  set.optional_text("--retained", "block", texts.retained_by,
                    "leaks: retained size by block (default), by stack or by type")
      .offer({"block", "stack", "type"});
  set.flag("--globals", leaks.globals, "leaks: what global variables retain, by variable; then other roots");
  set.flag("--scans", leaks.scan_list, "leaks: the results of all scans of the trace");
  set.text("--since", texts.since,
           "Only allocations since this mark; leaks: new, remaining and gone leaks since scan N")
      .value_name("MARK|N");
}

void add_opening(OptionSet& set, OptionTexts& texts) {
  set.group(OptionGroup::kOutput);
  set.optional_text(
      "--open", "first", texts.open,
      "summary, leaks, top: open the source of a stack (#12; default: the first one) in the editor ($VISUAL, $EDITOR)");
}

// "first", "12" or "#12".
base::Result<std::optional<uint64_t>> opened_stack(const std::string& text, View view) {
  if (text.empty()) return std::nullopt;
  const auto number = base::whole_number<uint64_t>(std::string_view(text).substr(text.starts_with('#') ? 1 : 0));
  const bool is_first = text == "first";
  if (!is_first && (!number || *number == 0)) {
    return base::fail_as(base::ErrorKind::kUsage, "show: --open={}: expected the number of a stack\nusage: {}", text,
                         kShowUsage);
  }
  if (view != View::kSummary && view != View::kLeaks && view != View::kTop) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "show: --open belongs to `show summary`, `show leaks` and `show top`\nusage: {}", kShowUsage);
  }
  return is_first ? 0 : *number;
}

void add_process_options(OptionSet& set, ShowOptions& options) {
  set.group(OptionGroup::kProcesses);
  set.choice(
         "--by", {"all", "process", "program", "tag", "pool"},
         [&options](const std::string& word) {
           options.query.listing.group = word == "tag"    ? query::GroupBy::kTag
                                         : word == "pool" ? query::GroupBy::kPool
                                                          : query::GroupBy::kNothing;
           options.table = word == "process"   ? RunTable::kProcesses
                           : word == "program" ? RunTable::kPrograms
                                               : RunTable::kAll;
         },
         "A table by tag or pool of the program; of several processes: all together (default: all), or a table by "
         "process or program")
      .value_name("WHAT");
  set.number("--process", options.process, "Of several processes: only this one", 1).value_name("PID");
  add_image(set, options.image);
}

// Whether options of `show leaks` were given, so that the view needn't be named.
bool asks_for_leaks(const ShowOptions& options, const OptionTexts& texts) {
  const query::LeakQuestion& leaks = options.query.leaks;
  return leaks.why || leaks.globals || leaks.scan_list || base::is_digits(texts.since) || !texts.syntax.empty() ||
         !texts.retained_by.empty();
}

// A number is a scan's.
base::Result<> take_since(const std::string& text, query::Query& query) {
  if (text.empty()) return {};
  if (!base::is_digits(text)) {
    if (!query.window.from.empty()) {
      return base::fail_as(base::ErrorKind::kUsage, "show: --since MARK is --from MARK: give one of them\nusage: {}",
                           kShowUsage);
    }
    query.window.from = text;
    return {};
  }
  const auto number = base::whole_number<uint32_t>(text);
  if (!number || *number == 0) {
    return base::fail_as(base::ErrorKind::kUsage, "show: --since {}: scans have numbers from 1 on\nusage: {}", text,
                         kShowUsage);
  }
  query.leaks.since = *number;
  return {};
}

base::Result<> take_texts(const OptionTexts& texts, query::Query& query) {
  using query::RetainedBy;
  using query::SuppressionSyntax;
  const auto wrong = [](const char* option, const std::string& text, const char* words) {
    return base::fail_as(base::ErrorKind::kUsage, "show: {}={}: expected {}\nusage: {}", option, text, words,
                         kShowUsage);
  };
  HEAPTAP_TRY(take_since(texts.since, query));
  if (texts.syntax == "lsan") {
    query.leaks.generate = SuppressionSyntax::kLsan;
  } else if (texts.syntax == "valgrind") {
    query.leaks.generate = SuppressionSyntax::kValgrind;
  } else if (!texts.syntax.empty()) {
    return wrong("--gen-suppressions", texts.syntax, "valgrind or lsan");
  }
  if (texts.retained_by == "block") {
    query.leaks.retained = RetainedBy::kBlock;
  } else if (texts.retained_by == "stack") {
    query.leaks.retained = RetainedBy::kStack;
  } else if (texts.retained_by == "type") {
    query.leaks.retained = RetainedBy::kType;
  } else if (!texts.retained_by.empty()) {
    return wrong("--retained", texts.retained_by, "block, stack or type");
  }
  return {};
}

// The view selected by the options. At most one of them may be given, and only for the leaks.
base::Result<View> leak_view(const ShowOptions& options, View view) {
  const query::LeakQuestion& leaks = options.query.leaks;
  View chosen = View::kLeaks;
  int count = leaks.generate ? 1 : 0;
  const auto choose = [&](bool given, View as) {
    if (!given) return;
    chosen = as;
    ++count;
  };
  choose(leaks.why.has_value(), View::kHolders);
  choose(leaks.retained.has_value(), View::kRetained);
  choose(leaks.globals, View::kGlobals);
  choose(leaks.scan_list, View::kScans);
  choose(leaks.since != 0, View::kScanChanges);
  if (count == 0) return view;
  if (view != View::kLeaks || count > 1) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "show: --why, --retained, --globals, --scans, --since and --gen-suppressions belong to `show "
                         "leaks`, one at a time\nusage: {}",
                         kShowUsage);
  }
  return chosen;
}

// Bad releases, or leaks, by stack.
bool lists_findings(const ShowOptions& options, View view) {
  return (view == View::kSummary || view == View::kLeaks) && options.table == RunTable::kAll &&
         options.query.listing.group == query::GroupBy::kNothing && !options.query.leaks.generate;
}

}  // namespace

std::shared_ptr<SymbolsServer> add_display_options(OptionSet& set, ShowOptions& options, bool has_token) {
  set.group(OptionGroup::kOutput);
  const Option json = add_json(set, options.json);
  const bool has_views = set.command() == "show";  // others show leaks
  if (has_views) set.flag("--ndjson", options.ndjson, "blocks, timeline: a JSON object a line").excludes(json);
  set.flag("--lines", options.lines,
           has_views ? "summary, leaks: a line for each finding, as a compiler's errors: FILE:LINE:COLUMN: error: ..."
                     : "A line for each finding, as a compiler's errors: FILE:LINE:COLUMN: error: ...")
      .excludes(json);
  set.flag("-q,--quiet", options.quiet, "Print no warnings");
  set.flag("--no-pager", options.no_pager, "Print on a terminal without a pager ($HEAPTAP_PAGER, $PAGER or less)");
  add_color(set, options.color);
  add_sort(set, options.query.listing.sort);
  set.number("-n,--count", options.query.listing.limit, "Show at most N stacks, blocks, …");
  set.number("-d,--depth", options.query.listing.frames.depth, "Show at most N frames of a stack (0: all)");
  if (has_views) {
    set.flag("--bottom-up", options.bottom_up, "tree: from the allocating functions to their callers");
    set.choice(
           "--memory", {"malloc", "mmap", "both"},
           [&options](const std::string& name) { options.memory = report::memory_named(name); },
           "tree: what allocation functions gave, what the program mapped, or both (default: both, if more was mapped)")
        .value_name("MEMORY");
    add_switch(set, "sanity", options.query.listing.errors, "summary: list bad releases",
               "summary: list no bad releases");
  }
  auto server = add_symbol_sources(set, options.query.symbols, {.has_token = has_token});
  add_ignore(set, options.query.filter.ignores);
  add_skip(set, options.query.filter.skip);
  add_frame_options(set, options.frames);
  add_config(set);
  return server;
}

namespace {

// `*.htap` has the newest trace twice: by its name, and by the link heaptap.latest.htap.
void drop_link_to_other(std::vector<std::string>& words) {
  const auto is_link_to_other = [&words](const std::string& word) {
    std::error_code error;
    return std::filesystem::is_symlink(word, error) && is_trace(word) &&
           std::ranges::any_of(words, [&](const std::string& other) {
             return &other != &word && is_trace(other) && std::filesystem::equivalent(word, other, error);
           });
  };
  const auto link = std::ranges::find_if(words, is_link_to_other);
  if (link != words.end()) words.erase(link);
}

}  // namespace

base::Result<Command> parse_show(const Arguments& arguments, const Defaults& defaults) {
  ShowOptions options;
  OptionTexts texts;
  options.query.listing.errors = true;
  std::vector<std::string> words;
  OptionSet set("show", "Read a trace", kShowUsage);
  set.positional("VIEW TRACE", words,
                 "summary, leaks, top, tree, stats, sizes, lifetimes, timeline, blocks or fragmentation; and the file")
      .offer(view_names());
  add_name_filters(set, options.query.filter);
  add_time_filters(set, options.query.window);
  add_leak_options(set, options);
  add_leak_views(set, options, texts);
  add_process_options(set, options);
  add_display_options(set, options);
  add_opening(set, texts);
  set.most_used(
      {"--json", "-n", "-d", "--sort", "--function", "--from", "--why", "--suppressions", "--symbols", "--full-names"});
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) {
    return std::unexpected(parsed.error());
  }
  if (*parsed) {
    return **parsed;
  }
  options.sorted = set.is_given("--sort");
  options.query.listing.frames.interpreter = options.frames.full_stacks;
  drop_link_to_other(words);
  if (words.size() > 2) {
    if (is_view(words[0]) && is_trace(words[1]) && is_trace(words[2])) {
      return base::fail_as(
          base::ErrorKind::kUsage,
          "show: one trace at a time, and '{}' and '{}' are two: `heaptap diff` compares them, and the "
          "*.run of a recording of several processes shows them together",
          words[1], words[2]);
    }
    return base::fail_as(base::ErrorKind::kUsage, "show: expected one view and one trace, got '{}' too\nusage: {}",
                         words[2], kShowUsage);
  }
  const bool names_trace_only = words.size() == 1 && !is_view(words[0]) && is_trace(words[0]);
  if (names_trace_only) words.insert(words.begin(), asks_for_leaks(options, texts) ? "leaks" : "summary");
  const auto named = view_of(words.empty() ? "summary" : words[0]);
  if (!named) {
    return std::unexpected(named.error());
  }
  HEAPTAP_TRY(take_texts(texts, options.query));
  const auto view = leak_view(options, *named);
  if (!view) {
    return std::unexpected(view.error());
  }
  auto opened = opened_stack(texts.open, *view);
  if (!opened) return std::unexpected(std::move(opened).error());
  options.open = *opened;
  if (options.ndjson && !json::has_ndjson(*view)) {
    return base::fail_as(base::ErrorKind::kUsage, "show: --ndjson is for `show blocks` and `show timeline`\nusage: {}",
                         kShowUsage);
  }
  if (options.lines && !lists_findings(options, *view)) {
    return base::fail_as(base::ErrorKind::kUsage, "show: --lines is for `show summary` and `show leaks`\nusage: {}",
                         kShowUsage);
  }
  if ((options.process != 0 || options.image != 0) && options.table != RunTable::kAll) {
    return base::fail_as(
        base::ErrorKind::kUsage,
        "show: --by process and --by program show all processes: leave --process and --image out\nusage: {}",
        kShowUsage);
  }
  if (options.memory && *view != report::View::kTree) {
    return base::fail_as(base::ErrorKind::kUsage, "show: --memory is for `show tree`; other views list both\nusage: {}",
                         kShowUsage);
  }
  options.view = *view;
  if (words.size() > 1) options.trace = words[1];
  return options;
}

}  // namespace heaptap::app
