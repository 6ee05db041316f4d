// The options of `heaptap show`.
#include <array>

#include "app/command_options.h"

namespace heaptap::app {
namespace {

using report::View;

constexpr const char* kUsage = "heaptap show VIEW TRACE [--json] [options]";
constexpr std::array<std::pair<const char*, View>, 9> kViews{{{"summary", View::kSummary},
                                                              {"leaks", View::kLeaks},
                                                              {"top", View::kTop},
                                                              {"tree", View::kTree},
                                                              {"stats", View::kStats},
                                                              {"sizes", View::kSizes},
                                                              {"lifetimes", View::kLifetimes},
                                                              {"timeline", View::kTimeline},
                                                              {"blocks", View::kBlocks}}};

base::Result<View> view_of(const std::string& name) {
  std::string names;
  for (const auto& [known, view] : kViews) {
    if (name == known) {
      return view;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known);
  }
  return base::fail_as(base::ErrorKind::kUsage, "show: '{}' is no view: use one of {}\nusage: {}", name, names, kUsage);
}

void add_filters(CLI::App& app, ShowOptions& options) {
  add_pattern(app, "--function", options.query.function,
              "Only stacks with this function: a part of a name, or a regular expression");
  add_pattern(app, "--module", options.query.module, "Only stacks through this module, likewise");
  add_number(app, "--thread", options.query.thread, "Only what thread N allocated (`show stats` numbers them)", 1);
  add_duration(app, "--from", options.query.from_ns, "Only allocations from this time on");
  add_duration(app, "--to", options.query.to_ns, "As it was at this time");
}

}  // namespace

void add_leak_options(CLI::App& app, ShowOptions& options) {
  add_number(app, "--scan", options.query.scan, "Leaks as the scan with this number saw them (default: the last one)",
             1);
  add_root_kinds(app, options.query.leaks.roots);
  add_suppressions(app, options.suppressions, options.query.carried_suppressions);
}

namespace {

// Options whose value may be left out; empty where they weren't given.
struct OptionTexts {
  std::string syntax;
  std::string retained_by;
};

// These show something else than the list of leaks.
void add_leak_views(CLI::App& app, ShowOptions& options, OptionTexts& texts) {
  analysis::Query& query = options.query;
  app.add_flag("--gen-suppressions{valgrind}", texts.syntax,
               "leaks: print only suppressions for those listed; =lsan in LSan's syntax instead of Valgrind's");
  app.add_option_function<std::string>(
         "--why",
         [&query](const std::string& text) {
           const auto question = analysis::parse_block_question(text);
           if (!question) throw CLI::ValidationError("--why", question.error().message);
           query.why = *question;
         },
         "leaks: who holds the block around this address (0x...), block (#b12) or largest block of a stack (#12)")
      ->type_name("WHAT");
  app.add_flag("--retained{block}", texts.retained_by,
               "leaks: what would go if a block went; =stack, =type: all blocks of a stack, of a type");
  app.add_flag("--globals", query.globals, "leaks: what only global variables hold, by variable");
  app.add_flag("--scans", query.scan_list, "leaks: what each scan of the trace found");
  add_number(app, "--since", query.since, "leaks: what was not lost yet in scan N, what still is, what no longer is",
             1);
}

base::Result<> take_texts(const OptionTexts& texts, analysis::Query& query) {
  using analysis::RetainedBy;
  using analysis::SuppressionSyntax;
  const auto wrong = [](const char* option, const std::string& text, const char* words) {
    return base::fail_as(base::ErrorKind::kUsage, "show: {}={}: it takes {}\nusage: {}", option, text, words, kUsage);
  };
  if (texts.syntax == "lsan") {
    query.generate = SuppressionSyntax::kLsan;
  } else if (texts.syntax == "valgrind") {
    query.generate = SuppressionSyntax::kValgrind;
  } else if (!texts.syntax.empty()) {
    return wrong("--gen-suppressions", texts.syntax, "valgrind or lsan");
  }
  if (texts.retained_by == "block") {
    query.retained = RetainedBy::kBlock;
  } else if (texts.retained_by == "stack") {
    query.retained = RetainedBy::kStack;
  } else if (texts.retained_by == "type") {
    query.retained = RetainedBy::kType;
  } else if (!texts.retained_by.empty()) {
    return wrong("--retained", texts.retained_by, "block, stack or type");
  }
  return {};
}

// The view that the options choose. At most one of them may be given, and only for the leaks.
base::Result<View> leak_view(const ShowOptions& options, View view) {
  const analysis::Query& query = options.query;
  View chosen = View::kLeaks;
  int count = query.generate ? 1 : 0;
  const auto choose = [&](bool given, View as) {
    if (!given) return;
    chosen = as;
    ++count;
  };
  choose(query.why.has_value(), View::kHolders);
  choose(query.retained.has_value(), View::kRetained);
  choose(query.globals, View::kGlobals);
  choose(query.scan_list, View::kScans);
  choose(query.since != 0, View::kScanChanges);
  if (count == 0) return view;
  if (view != View::kLeaks || count > 1) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "show: --why, --retained, --globals, --scans, --since and --gen-suppressions belong to `show "
                         "leaks`, one at a time\nusage: {}",
                         kUsage);
  }
  return chosen;
}

}  // namespace

void add_display_options(CLI::App& app, ShowOptions& options) {
  app.add_flag("--json", options.json, "As JSON");
  add_sort(app, options.query.sort);
  add_number(app, "-n,--count", options.query.limit, "Show at most N stacks, blocks, …");
  add_number(app, "-d,--depth", options.query.depth, "Show at most N frames of a stack (0: all)");
  app.add_flag("--bottom-up", options.bottom_up, "tree: from the allocating functions to their callers");
  add_switch(app, "sanity", options.query.errors, "summary: list bad releases");
  add_list(app, "--symbols", options.query.symbols.symbol_directories, "Look for debug information below DIR")
      ->type_name("DIR");
  add_list(app, "--sysroot", options.query.symbols.sysroots, "Look for the target's files below DIR")->type_name("DIR");
  app.add_flag("--debuginfod", options.query.symbols.debuginfod, "Ask the servers of $DEBUGINFOD_URLS");
  app.add_flag("-q,--quiet", options.quiet, "No warnings");
  add_color(app, options.color);
  app.set_config("--config", "", "Read options from an INI or TOML file", false);
}

base::Result<Command> parse_show(const Arguments& arguments) {
  ShowOptions options;
  OptionTexts texts;
  options.query.errors = true;
  std::vector<std::string> words;
  CLI::App app("Read a trace: " + std::string(kUsage), "show");
  app.add_option("VIEW TRACE", words,
                 "summary, leaks, top, tree, stats, sizes, lifetimes, timeline or blocks; and the file");
  add_filters(app, options);
  add_leak_options(app, options);
  add_leak_views(app, options, texts);
  add_display_options(app, options);
  const auto parsed = parse_with(app, kUsage, arguments);
  if (!parsed) {
    return std::unexpected(parsed.error());
  }
  if (*parsed) {
    return **parsed;
  }
  options.sorted = app.count("--sort") > 0;
  if (words.empty() || words.size() > 2) {
    return base::fail_as(base::ErrorKind::kUsage, "show: {}\nusage: {}",
                         words.empty() ? "no view and no trace given" : "one view and one trace, please", kUsage);
  }
  const auto named = view_of(words[0]);
  if (!named) {
    return std::unexpected(named.error());
  }
  HEAPTAP_TRY(take_texts(texts, options.query));
  const auto view = leak_view(options, *named);
  if (!view) {
    return std::unexpected(view.error());
  }
  if (words.size() == 1) {
    return base::fail_as(base::ErrorKind::kUsage, "show: no trace given (the newest is heaptap.latest.htap)\nusage: {}",
                         kUsage);
  }
  if (options.query.from_ns > options.query.to_ns) {
    return base::fail_as(base::ErrorKind::kUsage, "show: --from is later than --to\nusage: {}", kUsage);
  }
  options.view = *view;
  options.trace = words[1];
  return options;
}

}  // namespace heaptap::app
