// Comparison as text: recordings, totals, number of stacks in each state, stacks, doubts.
#include "views/text/text_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/compared_rows.h"
#include "analysis/findings/comparison_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/ignored_text.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "views/text/text_compared_stacks.h"
#include "views/text/text_table.h"

namespace heaptap::text {
namespace {

using report::StackState;

constexpr size_t kLabelWidth = 8;      // "before  "
constexpr size_t kMaxWithPercent = 4;  // recordings with columns

// Words of a sentence in lines of at most `width` columns; the second and later lines are indented.
std::string filled(const std::string& sentence, size_t indent, size_t width) {
  std::string text, line;
  for (size_t begin = 0; begin < sentence.size();) {
    const size_t end = std::min(sentence.find(' ', begin), sentence.size());
    const std::string word = sentence.substr(begin, end - begin);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      text += line + "\n";
      line.assign(indent, ' ');
      line += word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
    begin = end + 1;
  }
  return text + line + "\n";
}

std::string title_text(const report::Comparison& comparison, size_t number, size_t width) {
  const report::Recording& recording = comparison.recordings[number];
  std::string text =
      base::safe_text(findings::short_name(recording.report.trace_path, width - std::min(width, kLabelWidth)));
  if (recording.at_ns) text += " at " + base::format_duration(*recording.at_ns);
  text += fmt::format("  {}{}: {}", findings::program_of(recording.report.capture),
                      findings::process_of(recording.report.capture), findings::exit_text(recording.report.capture));
  return filled(fmt::format("{:<7} {}", findings::label_of(comparison, number), text), kLabelWidth, width);
}

bool is_of_moments(const report::Comparison& comparison) { return comparison.recordings.front().at_ns.has_value(); }

// Totals at the top of a comparison.
std::vector<report::Figure> total_figures(const report::Comparison& comparison) {
  using enum report::Figure;
  if (is_of_moments(comparison))
    return {kLiveBytes, kLiveBlocks, kAllocatedBytes, kAllocations, kReleasedBytes, kReleases};
  return {kAllocations, kAllocatedBytes, kTemporary, kPeakBytes, kLiveBytes, kLiveBlocks, kLeakedBytes};
}

std::string totals_text(const report::Comparison& comparison, size_t width, const Ink& ink) {
  const std::vector<size_t> shown = shown_recordings(comparison);
  std::vector<TextTable::Column> columns{{"", Align::kLeft}};
  for (const size_t number : shown) columns.push_back({findings::label_of(comparison, number), Align::kRight});
  columns.push_back({"change", Align::kRight});
  columns.push_back({"", Align::kRight});
  TextTable table(std::move(columns), width);
  for (const report::Figure figure : total_figures(comparison)) {
    std::vector<std::string> cells{std::string(report::facts_of(figure).word)};
    for (const size_t number : shown)
      cells.push_back(findings::value_text(figure, comparison.recordings[number].totals[figure]));
    const auto change = comparison.change(figure);
    cells.push_back(findings::change_text(figure, change));
    cells.push_back(shown.size() <= kMaxWithPercent
                        ? findings::percent_text(change, comparison.recordings.front().totals[figure])
                        : "");
    table.add(std::move(cells));
  }
  return table.render(ink);
}

// "2 grown, 7 unchanged": stacks that are listed, and those in which the sort figure is the same.
std::string counts_text(const report::Comparison& comparison, const findings::ComparedList& list, const Ink& ink) {
  std::array<uint64_t, report::kStackStateCount> counts{};
  uint64_t unchanged = comparison.unchanged + list.changed_otherwise();
  for (const report::ComparedStack* stack : list.stacks()) {
    const bool is_same = stack->state == StackState::kSame && !findings::is_changed(comparison, *stack);
    ++(is_same ? unchanged : counts[static_cast<size_t>(stack->state)]);
  }
  std::vector<std::string> parts;
  const auto add = [&parts](uint64_t count, std::string_view words) {
    if (count != 0) parts.push_back(fmt::format("{} {}", base::format_count(count), words));
  };
  for (const StackState state :
       {StackState::kNew, StackState::kGone, StackState::kGrown, StackState::kShrunk, StackState::kUnknown}) {
    add(counts[static_cast<size_t>(state)], report::name_of(state));
  }
  add(counts[static_cast<size_t>(StackState::kSame)], "the same at the end");
  add(unchanged, "unchanged");
  const std::string title = ink.bold(fmt::format("Stacks by change of {}", report::facts_of(comparison.sort).word));
  return fmt::format("\n{}{}{}\n", title, parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

std::string remarks_text(const report::Comparison& comparison, size_t width, const Ink& ink) {
  std::string text;
  for (const std::string& remark : findings::remarks_of(comparison)) {
    std::string lines = filled(fmt::format("! {}", base::safe_text(remark)), 2, width);
    lines.pop_back();
    text += ink.yellow(lines) + "\n";
  }
  return text.empty() ? text : fmt::format("\n{}", text);
}

std::string rest_text(const report::Comparison& comparison, const findings::ComparedList& list, size_t left_out,
                      const Ink& ink) {
  std::vector<std::string> parts;
  if (left_out != 0) parts.push_back(findings::counted(left_out, "stack") + " more: -n N shows more");
  if (comparison.below_floor != 0)
    parts.push_back(findings::counted(comparison.below_floor, "smaller change") + " left out");
  if (const uint64_t others = list.changed_otherwise(); others != 0)
    parts.push_back(fmt::format("{} changed only in other figures than {}: --unchanged shows {}",
                                findings::counted(others, "stack"), report::facts_of(comparison.sort).word,
                                others == 1 ? "it" : "them"));
  return parts.empty() ? "" : fmt::format("\n{}\n", ink.dim(fmt::format("({})", fmt::join(parts, "; "))));
}

std::string libraries_text(const report::Comparison& comparison, const findings::ComparedList& list, const Ink& ink) {
  const std::string text = findings::libraries_text(comparison.sort, list.of_libraries());
  return text.empty() ? "" : fmt::format("\n{}\n", ink.dim(fmt::format("({}; --unchanged lists all)", text)));
}

}  // namespace

std::string render_comparison(const report::Comparison& comparison, const ComparisonOptions& options) {
  const Ink ink(options.color);
  std::string text;
  for (size_t number = 0; number < comparison.recordings.size(); ++number)
    text += title_text(comparison, number, options.width);
  if (const std::string& filter = comparison.recordings.front().report.filter; !filter.empty()) {
    text += ink.yellow("only: " + base::safe_text(filter)) + "\n";
  }
  for (size_t number = 0; number < comparison.recordings.size(); ++number) {
    if (const std::string ignored = findings::ignored_text(comparison.recordings[number].report); !ignored.empty())
      text += ink.dim(findings::label_of(comparison, number) + ": " + ignored) + "\n";
  }
  const findings::ComparedList list(comparison, options.frames, options.unchanged);
  text += '\n';
  text += totals_text(comparison, options.width, ink) + counts_text(comparison, list, ink);
  const ComparedText stacks = compared_stacks_text(comparison, list, options, ink);
  const bool is_whole = comparison.below_floor == 0 && list.changed_otherwise() == 0;
  if (list.stacks().empty() && is_whole)
    text += list.of_libraries().empty() ? "  no stack changed\n" : "  no stack of the program changed\n";
  return text + stacks.text + libraries_text(comparison, list, ink) +
         rest_text(comparison, list, stacks.left_out, ink) + remarks_text(comparison, options.width, ink);
}

}  // namespace heaptap::text
