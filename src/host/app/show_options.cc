// The options of `heaptap show`.
#include <array>

#include "host/app/command_options.h"

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
  app.add_option("--function", options.query.function,
                 "Only stacks with this function: a part of a name, or a regular expression")
      ->type_name("NAME");
  app.add_option("--module", options.query.module, "Only stacks through this module, likewise")->type_name("NAME");
  app.add_option("--thread", options.query.thread, "Only what thread N allocated (`show stats` numbers them)")
      ->type_name("N");
  add_duration(app, "--from", options.query.from_ns, "Only allocations from this time on");
  add_duration(app, "--to", options.query.to_ns, "As it was at this time");
}

}  // namespace

void add_leak_options(CLI::App& app, ShowOptions& options) {
  app.add_option("--scan", options.query.scan, "Leaks as the scan with this number saw them (default: the last one)")
      ->type_name("N");
  add_root_kinds(app, options.query.leaks.roots);
}

void add_display_options(CLI::App& app, ShowOptions& options) {
  app.add_flag("--json", options.json, "As JSON");
  add_sort(app, options.query.sort);
  app.add_option("-n,--count", options.query.limit, "Show at most N stacks, blocks, …")->type_name("N");
  app.add_option("-d,--depth", options.query.depth, "Show at most N frames of a stack (0: all)")->type_name("N");
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
  options.query.errors = true;
  std::vector<std::string> words;
  CLI::App app("Read a trace: " + std::string(kUsage), "show");
  app.add_option("VIEW TRACE", words,
                 "summary, leaks, top, tree, stats, sizes, lifetimes, timeline or blocks; and the file");
  add_filters(app, options);
  add_leak_options(app, options);
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
  const auto view = view_of(words[0]);
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
