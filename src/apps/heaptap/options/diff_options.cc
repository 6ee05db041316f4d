// Options of `heaptap diff`.
#include <charconv>

#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {
namespace {

constexpr const char* kDiffUsage =
    "heaptap diff BEFORE AFTER [MORE...] [options]  or  heaptap diff TRACE --from MOMENT [--to MOMENT]";

std::vector<std::string> figure_words() {
  std::vector<std::string> words;
  for (const report::FigureFacts& facts : report::figures()) words.emplace_back(facts.word);
  return words;
}

void take_sort(const std::string& word, report::Figure& sort) {
  for (const report::FigureFacts& facts : report::figures()) {
    if (facts.word == word) sort = facts.figure;
  }
}

void add_percent(OptionSet& set, double& percent) {
  const auto parse = [&percent](const std::string& text) -> base::Result<> {
    const std::string number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
    const bool is_number = error == std::errc() && end == number.data() + number.size();
    if (!is_number || !(percent >= 0 && percent <= 100)) {
      return base::fail("'{}' is not a number from 0 to 100", text);
    }
    return {};
  };
  set.parsed("--min-percent", parse, "Hide changes below N percent of the total").value_name("N");
}

void add_list_options(OptionSet& set, DiffOptions& options) {
  set.choice(
         "--sort", figure_words(), [&options](const std::string& word) { take_sort(word, options.compare.sort); },
         "Sort by the change of live (default), blocks, peak, allocated, allocations, freed, frees, temporary, leaked "
         "or leaked-blocks")
      .value_name("FIGURE");
  set.size("--min-bytes", options.compare.min_bytes, "Hide changes below SIZE");
  add_percent(set, options.compare.min_percent);
  set.flag("--unchanged", options.compare.unchanged, "List stacks without a change, too");
  set.number("-n,--count", options.limit, "Show at most N lines of stacks (default: 10; 0: all; JSON has all)");
  set.number("-d,--depth", options.depth, "--full-stacks: at most N frames of a stack (0: all, the default)");
}

void add_html_options(OptionSet& set, DiffOptions& options, const Option& json) {
  set.flag("--html", options.html, "As a report to explore in a browser, one HTML file").excludes(json);
  set.text("-o,--output", options.file.output, "--html: the file's name (default: the last trace's with .diff.html)")
      .value_name("FILE");
  set.flag("--force", options.file.force, "--html: replace FILE if it exists");
  set.flag("--open", options.file.open, "--html: open it in a browser");
  set.flag("--full", options.file.full, "--html: all stacks, however large the file becomes (default: at most 5 MB)");
}

base::Result<> check(DiffOptions& options) {
  const bool is_of_moments = !options.from.empty() || !options.to.empty();
  const auto wrong = [](const char* text) {
    return base::fail_as(base::ErrorKind::kUsage, "diff: {}\nusage: {}", text, kDiffUsage);
  };
  if (is_of_moments && options.traces.size() != 1) return wrong("--from and --to are moments of one trace");
  if (!is_of_moments && options.traces.size() < 2) {
    return wrong("expected two traces or more; or one, with --from and --to");
  }
  const HtmlFileOptions& file = options.file;
  if (!options.html && (!file.output.empty() || file.force || file.open || file.full))
    return wrong("--output, --force, --open and --full are for --html");
  if (is_of_moments && options.from.empty()) options.from = "start";
  if (is_of_moments && options.to.empty()) options.to = "end";
  return {};
}

}  // namespace

base::Result<Command> parse_diff(const Arguments& arguments, const Defaults& defaults) {
  DiffOptions options;
  OptionSet set("diff", "Compare recordings, or two moments of one", kDiffUsage);
  set.positional("TRACE", options.traces, "The traces in order, the oldest first");
  add_image(set, options.image);
  set.group(OptionGroup::kReport);
  set.text("--from", options.from, "Compare what was live at this time (1.5s) or mark ...").value_name("MOMENT");
  set.text("--to", options.to, "... with what was live at this one (default: the end)").value_name("MOMENT");
  add_list_options(set, options);
  add_name_filters(set, options.query.filter);
  add_ignore(set, options.query.filter.ignores);
  add_suppressions(set, options.suppressions, options.query.leaks.carried_suppressions);
  add_symbol_sources(set, options.query.symbols);
  add_skip(set, options.query.filter.skip);
  add_frame_options(set, options.frames, "Each stack with all of its frames, and all figures that changed");
  set.group(OptionGroup::kOutput);
  const Option json = add_json(set, options.json);
  add_html_options(set, options, json);
  add_color(set, options.color);
  add_config(set);
  set.most_used(
      {"--from", "--to", "--sort", "-n", "--min-bytes", "--full-stacks", "--function", "--json", "--html", "--open"});
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  HEAPTAP_TRY(check(options));
  return options;
}

}  // namespace heaptap::app
