// Comparison as text, within 80 columns. Two recordings: each stack with all its changes. More: a column per recording.
#include "views/text/text_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/comparison_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/ignored_text.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/findings/text_safe.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "views/text/text_table.h"

namespace heaptap::text {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kMaxValueColumns = 5;  // of a series: the first recording and the last ones
constexpr size_t kFrameIndent = 6;

// Parts, with commas between them, in lines of at most 80 columns.
std::string wrapped(const std::vector<std::string>& parts, size_t indent) {
  std::string text, line(indent, ' ');
  for (const std::string& part : parts) {
    if (line.size() > indent && line.size() + part.size() + 2 > kColumns) {
      text += line + "\n";
      line.assign(indent, ' ');
    }
    line += part + (&part == &parts.back() ? "" : ", ");
    if (line.ends_with(' ') && line.size() > kColumns) line.pop_back();
  }
  text += line + "\n";
  for (size_t place = 0; (place = text.find(" \n", place)) != std::string::npos;) text.erase(place, 1);
  return text;
}

// Words of a sentence, likewise; the second and later lines are indented.
std::string filled(const std::string& sentence, size_t indent) {
  std::string text, line;
  for (size_t begin = 0; begin < sentence.size();) {
    const size_t end = std::min(sentence.find(' ', begin), sentence.size());
    const std::string word = sentence.substr(begin, end - begin);
    if (!line.empty() && line.size() + 1 + word.size() > kColumns) {
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

std::string title_text(const report::Comparison& comparison, size_t number) {
  const report::Recording& recording = comparison.recordings[number];
  std::string text = base::safe_text(findings::short_name(recording.report.trace_path, kColumns - 8));
  if (recording.at_ns) text += " at " + base::format_duration(*recording.at_ns);
  text += fmt::format("  {}{}: {}", findings::program_of(recording.report.capture),
                      findings::process_of(recording.report.capture), findings::exit_text(recording.report.capture));
  return filled(fmt::format("{:<7} {}", findings::label_of(comparison, number), text), 8);
}

bool is_of_moments(const report::Comparison& comparison) { return comparison.recordings.front().at_ns.has_value(); }

// Totals at the top of a comparison.
std::vector<report::Figure> total_figures(const report::Comparison& comparison) {
  using enum report::Figure;
  if (is_of_moments(comparison))
    return {kLiveBytes, kLiveBlocks, kAllocatedBytes, kAllocations, kReleasedBytes, kReleases};
  return {kAllocations, kAllocatedBytes, kTemporary, kPeakBytes, kLiveBytes, kLiveBlocks, kLeakedBytes};
}

// Recordings that have a column.
std::vector<size_t> shown_recordings(const report::Comparison& comparison) {
  const size_t count = comparison.recordings.size();
  std::vector<size_t> shown{0};
  for (size_t number = std::max(count, kMaxValueColumns) - kMaxValueColumns + 1; number < count; ++number) {
    shown.push_back(number);
  }
  return shown;
}

std::string totals_text(const report::Comparison& comparison, const Ink& ink) {
  const std::vector<size_t> shown = shown_recordings(comparison);
  std::vector<TextTable::Column> columns{{"", Align::kLeft}};
  for (const size_t number : shown) columns.push_back({findings::label_of(comparison, number), Align::kRight});
  columns.push_back({"change", Align::kRight});
  columns.push_back({"", Align::kRight});
  TextTable table(std::move(columns), kColumns);
  for (const report::Figure figure : total_figures(comparison)) {
    std::vector<std::string> cells{std::string(report::facts_of(figure).word)};
    for (const size_t number : shown)
      cells.push_back(findings::value_text(figure, comparison.recordings[number].totals[figure]));
    const auto change = comparison.change(figure);
    cells.push_back(findings::change_text(figure, change));
    cells.push_back(shown.size() < kMaxValueColumns
                        ? findings::percent_text(change, comparison.recordings.front().totals[figure])
                        : "");
    table.add(std::move(cells));
  }
  return table.render(ink);
}

std::string counts_text(const report::Comparison& comparison, const Ink& ink) {
  std::vector<std::string> parts;
  for (const report::StackState state :
       {report::StackState::kNew, report::StackState::kGone, report::StackState::kGrown, report::StackState::kShrunk,
        report::StackState::kUnknown}) {
    const uint64_t count = comparison.states[static_cast<size_t>(state)];
    if (count != 0) parts.push_back(fmt::format("{} {}", base::format_count(count), report::name_of(state)));
  }
  if (comparison.moved_count != 0) parts.push_back(base::format_count(comparison.moved_count) + " moved");
  if (comparison.unchanged != 0) parts.push_back(base::format_count(comparison.unchanged) + " unchanged");
  const std::string title = ink.bold(fmt::format("Stacks by change of {}", report::facts_of(comparison.sort).word));
  return fmt::format("\n{}{}{}\n", title, parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

// "live +1.0 KiB (2.0 KiB -> 3.0 KiB)"
std::string step_text(const report::ComparedStack& stack, report::Figure figure) {
  const auto& before = stack.sides.front().figures[figure];
  const auto& after = stack.sides.back().figures[figure];
  return fmt::format("{} {} -> {}", report::facts_of(figure).word, findings::value_text(figure, before),
                     findings::value_text(figure, after));
}

// All figures that changed, and the one sorted by. Figures unknown on either side are left out.
std::vector<std::string> steps_of(const report::Comparison& comparison, const report::ComparedStack& stack) {
  std::vector<std::string> steps;
  for (const report::FigureFacts& facts : report::figures()) {
    const auto& before = stack.sides.front().figures[facts.figure];
    const auto& after = stack.sides.back().figures[facts.figure];
    if (facts.figure == comparison.sort || before != after) steps.push_back(step_text(stack, facts.figure));
  }
  return steps;
}

// "#3 -> #5"; "#5" of one recording alone.
std::string ids_text(const report::ComparedStack& stack) {
  const auto text_of = [](const report::StackSide& side) {
    if (side.ids.empty()) return std::string();
    const size_t more = side.ids.size() - 1;
    return fmt::format("#{}{}", side.ids.front(), more == 0 ? "" : fmt::format(" (and {} more)", more));
  };
  const std::string before = text_of(stack.sides.front());
  const std::string after = text_of(stack.sides.back());
  if (before.empty() || after.empty() || before == after) return before.empty() ? after : before;
  return before + " -> " + after;
}

std::string colored(const Ink& ink, report::StackState state, const std::string& text) {
  if (state == report::StackState::kNew || state == report::StackState::kGrown) return ink.red(text);
  return state == report::StackState::kUnknown ? ink.yellow(text) : ink.bold(text);
}

// The previous place of a frame, if its line differs; the stacks have the same functions.
std::string was_text(const model::Frame& before, const model::Frame& frame) {
  const bool moved = !frame.file.empty() && !before.file.empty() && frame.line != before.line;
  return moved ? fmt::format(" (was {})", before.line) : "";
}

bool same_functions(const report::FrameList& before, const report::FrameList& after) {
  return before.size() == after.size() &&
         std::equal(before.begin(), before.end(), after.begin(),
                    [](const model::Frame& one, const model::Frame& other) { return one.function == other.function; });
}

std::string frames_text(const Ink& ink, const report::FrameList& frames, const report::FrameList& before,
                        size_t depth) {
  const bool aligned = same_functions(before, frames);
  const size_t shown = depth == 0 ? frames.size() : std::min(frames.size(), depth);
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    const model::Frame& frame = frames[i];
    std::string place = base::safe_text(findings::short_name(findings::location_of(frame), kColumns / 2));
    place += (aligned ? was_text(before[i], frame) : "") + std::string(frame.inlined ? " (inlined)" : "");
    const size_t taken = kFrameIndent + 2 + place.size();
    const size_t room = std::max<size_t>(kColumns - std::min(kColumns, taken), 16);
    text += std::string(kFrameIndent, ' ') + base::safe_text(findings::function_of(frame, room)) + "  " +
            ink.dim(place) + "\n";
  }
  if (shown < frames.size()) {
    text += std::string(kFrameIndent, ' ') + ink.dim(fmt::format("({} more)", frames.size() - shown)) + "\n";
  }
  return text;
}

std::string stack_text(const report::Comparison& comparison, const report::ComparedStack& stack,
                       const ComparisonOptions& options, const Ink& ink) {
  const report::FigureFacts& sort = report::facts_of(comparison.sort);
  const std::string change = findings::change_text(sort.figure, stack.change(sort.figure));
  std::string text = fmt::format("\n  {}", colored(ink, stack.state, fmt::format("{} {}", change, sort.word)));
  text += fmt::format("  {}{}  {}  {}\n", report::name_of(stack.state), stack.moved ? ", moved" : "",
                      findings::function_text(stack.function, stack.variant), ids_text(stack));
  text += wrapped(steps_of(comparison, stack), 4);
  const report::FrameList before = comparison.list(stack.frames_before);
  const report::FrameList frames = comparison.list(stack.frames);
  text += frames_text(ink, frames, before, options.depth);
  if (stack.moved && !same_functions(before, frames)) {
    text += fmt::format("    {}\n{}", ink.dim("before:"), frames_text(ink, before, {}, options.depth));
  }
  return text;
}

// One table, with a stack's path below each row.
std::string series_text(const report::Comparison& comparison, size_t shown, const Ink& ink) {
  const std::vector<size_t> numbers = shown_recordings(comparison);
  std::vector<TextTable::Column> columns;
  for (const size_t number : numbers) columns.push_back({findings::label_of(comparison, number), Align::kRight});
  columns.push_back({"growth", Align::kRight});
  TextTable table(std::move(columns), kColumns);
  for (size_t i = 0; i < shown; ++i) {
    const report::ComparedStack& stack = comparison.stacks[i];
    std::vector<std::string> cells;
    for (const size_t number : numbers) {
      cells.push_back(findings::value_text(comparison.sort, stack.sides[number].figures[comparison.sort]));
    }
    cells.push_back(findings::change_text(comparison.sort, stack.change(comparison.sort)));
    table.add(std::move(cells));
  }
  const std::string lines = table.render(ink);
  size_t begin = lines.find('\n') + 1;
  std::string text = lines.substr(0, begin);
  for (size_t i = 0; i < shown; ++i) {
    const report::ComparedStack& stack = comparison.stacks[i];
    const size_t end = lines.find('\n', begin) + 1;
    text += lines.substr(begin, end - begin);
    begin = end;
    const model::Frame* const frame = findings::telling_frame(comparison.list(stack.frames));
    const std::string what = fmt::format("      {}{} from ", stack.growing ? "grows in each: " : "",
                                         findings::function_text(stack.function, stack.variant));
    const size_t room = kColumns - std::min(kColumns - 16, what.size() + 30);
    text += (stack.growing ? ink.red(what) : what) +
            (frame == nullptr ? "an unknown caller" : findings::describe(*frame, room)) + "\n";
  }
  return text;
}

std::string remarks_text(const report::Comparison& comparison, const Ink& ink) {
  std::string text;
  for (const std::string& remark : findings::remarks_of(comparison)) {
    std::string lines = filled(fmt::format("! {}", base::safe_text(remark)), 2);
    lines.pop_back();
    text += ink.yellow(lines) + "\n";
  }
  return text.empty() ? text : fmt::format("\n{}", text);
}

std::string rest_text(const report::Comparison& comparison, size_t shown, const Ink& ink) {
  std::vector<std::string> parts;
  if (shown < comparison.stacks.size())
    parts.push_back(findings::counted(comparison.stacks.size() - shown, "stack") + " more: -n N shows more");
  if (comparison.below_floor != 0)
    parts.push_back(findings::counted(comparison.below_floor, "smaller change") + " left out");
  return parts.empty() ? "" : fmt::format("\n{}\n", ink.dim(fmt::format("({})", fmt::join(parts, "; "))));
}

}  // namespace

std::string render_comparison(const report::Comparison& comparison, const ComparisonOptions& options) {
  const Ink ink(options.color);
  std::string text;
  for (size_t number = 0; number < comparison.recordings.size(); ++number) text += title_text(comparison, number);
  if (const std::string& filter = comparison.recordings.front().report.filter; !filter.empty()) {
    text += ink.yellow("only: " + base::safe_text(filter)) + "\n";
  }
  for (size_t number = 0; number < comparison.recordings.size(); ++number) {
    if (const std::string ignored = findings::ignored_text(comparison.recordings[number].report); !ignored.empty())
      text += ink.dim(findings::label_of(comparison, number) + ": " + ignored) + "\n";
  }
  text += '\n';
  text += totals_text(comparison, ink) + counts_text(comparison, ink);
  const size_t count = comparison.stacks.size();
  const size_t shown = options.limit == 0 ? count : std::min(count, options.limit);
  if (shown == 0) text += "  no stack changed\n";
  if (shown != 0 && comparison.recordings.size() > 2) text += series_text(comparison, shown, ink);
  if (comparison.recordings.size() == 2) {
    for (size_t i = 0; i < shown; ++i) text += stack_text(comparison, comparison.stacks[i], options, ink);
  }
  return text + rest_text(comparison, shown, ink) + remarks_text(comparison, ink);
}

}  // namespace heaptap::text
