// Answers about two recordings, or two moments of one.
#include <fmt/format.h>

#include <array>

#include "analysis/findings/fix_verdict.h"
#include "analysis/query/compare.h"
#include "apps/heaptap/commands/diff_command.h"
#include "apps/heaptap/mcp/answers.h"
#include "common/base/safe_text.h"
#include "views/text/text_comparison.h"

namespace heaptap::app {
namespace {

constexpr size_t kMaxComparedRows = 50;
constexpr size_t kComparisonWidth = 100;

DiffOptions diff_options(const McpSources& sources, report::Figure sort) {
  DiffOptions options;
  options.query.symbols = sources.symbols;
  options.compare.sort = sort;
  return options;
}

base::Result<std::string> compared_text(const DiffOptions& options) {
  const auto comparison = compare_recordings(options);
  if (!comparison) return std::unexpected(comparison.error());
  return text::render_comparison(*comparison, {.limit = kMaxComparedRows, .width = kComparisonWidth});
}

// Both recordings' paths.
base::Result<std::vector<std::string>> paths_of(const McpSources& sources, const McpComparison& comparison) {
  std::vector<std::string> paths;
  for (const std::string& name : {comparison.before, comparison.after}) {
    auto path = sources.directory.recording(name);
    if (!path) return std::unexpected(path.error());
    paths.push_back(*std::move(path));
  }
  return paths;
}

std::string fix_text(const findings::FixVerdict& verdict) {
  std::string text = fmt::format("verdict: {}\n", findings::name_of(verdict.state));
  for (const std::string& reason : verdict.reasons) text += "- " + base::safe_text(reason) + "\n";
  return text;
}

}  // namespace

base::Result<std::string> tell_difference(const McpSources& sources, const McpComparison& comparison) {
  auto paths = paths_of(sources, comparison);
  if (!paths) return std::unexpected(paths.error());
  DiffOptions options = diff_options(sources, comparison.sort);
  options.traces = *std::move(paths);
  options.query.filter.function = comparison.function;
  return compared_text(options);
}

base::Result<std::string> tell_growth(const McpSources& sources, const McpRecording& recording, const std::string& from,
                                      const std::string& to, report::Figure sort) {
  const auto path = path_of(sources, recording);
  if (!path) return std::unexpected(path.error());
  DiffOptions options = diff_options(sources, sort);
  options.traces = {*path};
  options.from = from;
  options.to = to.empty() ? "end" : to;
  return compared_text(options);
}

base::Result<std::string> tell_fix(const McpSources& sources, const McpComparison& comparison,
                                   const std::optional<uint64_t>& stack) {
  if (stack.has_value() == !comparison.function.empty() || stack == 0)
    return base::fail("name the stack (its number in the recording before) or a function, one of them");
  const auto paths = paths_of(sources, comparison);
  if (!paths) return std::unexpected(paths.error());
  DiffOptions options = diff_options(sources, report::Figure::kLeakedBytes);
  options.query.filter.function = comparison.function;
  const auto reports = read_for_comparison(*paths, options.query);
  if (!reports) return std::unexpected(reports.error());
  const report::Report& before = reports->front();
  const report::Report& after = reports->back();
  const report::Comparison compared =
      query::compare({{&before, {}}, {&after, {}}}, {.sort = report::Figure::kLeakedBytes, .unchanged = true});
  return fix_text(findings::judge_fix({before, after, compared}, stack.value_or(0)));
}

}  // namespace heaptap::app
