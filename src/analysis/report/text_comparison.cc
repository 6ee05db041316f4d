// Comparison as text, within 80 columns. Two recordings: each stack with all its changes. More: a column per recording.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/report/comparison.h"
#include "analysis/report/telling_frame.h"
#include "analysis/report/text_parts.h"
#include "analysis/report/text_safe.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::report {
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

std::string title_text(const Comparison& comparison, size_t number) {
  const Recording& recording = comparison.recordings[number];
  std::string text = base::safe_text(short_name(recording.report.trace_path, kColumns - 8));
  if (recording.at_ns) text += " at " + base::format_duration(*recording.at_ns);
  text += fmt::format("  {}{}: {}", program_of(recording.report.capture), process_of(recording.report.capture),
                      exit_text(recording.report.capture));
  return filled(fmt::format("{:<7} {}", label_of(comparison, number), text), 8);
}

bool is_of_moments(const Comparison& comparison) { return comparison.recordings.front().at_ns.has_value(); }

// The totals that a comparison begins with.
std::vector<Figure> total_figures(const Comparison& comparison) {
  using enum Figure;
  if (is_of_moments(comparison))
    return {kLiveBytes, kLiveBlocks, kAllocatedBytes, kAllocations, kReleasedBytes, kReleases};
  return {kAllocations, kAllocatedBytes, kTemporary, kPeakBytes, kLiveBytes, kLiveBlocks, kLeakedBytes};
}

// Which recordings have a column.
std::vector<size_t> shown_recordings(const Comparison& comparison) {
  const size_t count = comparison.recordings.size();
  std::vector<size_t> shown{0};
  for (size_t number = std::max(count, kMaxValueColumns) - kMaxValueColumns + 1; number < count; ++number) {
    shown.push_back(number);
  }
  return shown;
}

std::string totals_text(const Comparison& comparison, const Ink& ink) {
  const std::vector<size_t> shown = shown_recordings(comparison);
  std::vector<TextTable::Column> columns{{"", Align::kLeft}};
  for (const size_t number : shown) columns.push_back({label_of(comparison, number), Align::kRight});
  columns.push_back({"change", Align::kRight});
  columns.push_back({"", Align::kRight});
  TextTable table(std::move(columns), kColumns);
  for (const Figure figure : total_figures(comparison)) {
    std::vector<std::string> cells{std::string(facts_of(figure).word)};
    for (const size_t number : shown) cells.push_back(value_text(figure, comparison.recordings[number].totals[figure]));
    const auto change = comparison.change(figure);
    cells.push_back(change_text(figure, change));
    cells.push_back(shown.size() < kMaxValueColumns ? percent_text(change, comparison.recordings.front().totals[figure])
                                                    : "");
    table.add(std::move(cells));
  }
  return table.render(ink);
}

std::string counts_text(const Comparison& comparison, const Ink& ink) {
  std::vector<std::string> parts;
  for (const StackState state :
       {StackState::kNew, StackState::kGone, StackState::kGrown, StackState::kShrunk, StackState::kUnknown}) {
    const uint64_t count = comparison.states[static_cast<size_t>(state)];
    if (count != 0) parts.push_back(fmt::format("{} {}", base::format_count(count), name_of(state)));
  }
  if (comparison.moved_count != 0) parts.push_back(base::format_count(comparison.moved_count) + " moved");
  if (comparison.unchanged != 0) parts.push_back(base::format_count(comparison.unchanged) + " unchanged");
  const std::string title = ink.bold(fmt::format("Stacks by change of {}", facts_of(comparison.sort).word));
  return fmt::format("\n{}{}{}\n", title, parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

// "live +1.0 KiB (2.0 KiB -> 3.0 KiB)"
std::string step_text(const ComparedStack& stack, Figure figure) {
  const auto& before = stack.sides.front().figures[figure];
  const auto& after = stack.sides.back().figures[figure];
  return fmt::format("{} {} -> {}", facts_of(figure).word, value_text(figure, before), value_text(figure, after));
}

// All that changed, and the figure that is sorted by. What isn't known on either side is left out.
std::vector<std::string> steps_of(const Comparison& comparison, const ComparedStack& stack) {
  std::vector<std::string> steps;
  for (const FigureFacts& facts : figures()) {
    const auto& before = stack.sides.front().figures[facts.figure];
    const auto& after = stack.sides.back().figures[facts.figure];
    if (facts.figure == comparison.sort || before != after) steps.push_back(step_text(stack, facts.figure));
  }
  return steps;
}

// "#3 -> #5"; "#5" of one recording alone.
std::string ids_text(const ComparedStack& stack) {
  const auto text_of = [](const StackSide& side) {
    if (side.ids.empty()) return std::string();
    const size_t more = side.ids.size() - 1;
    return fmt::format("#{}{}", side.ids.front(), more == 0 ? "" : fmt::format(" (and {} more)", more));
  };
  const std::string before = text_of(stack.sides.front());
  const std::string after = text_of(stack.sides.back());
  if (before.empty() || after.empty() || before == after) return before.empty() ? after : before;
  return before + " -> " + after;
}

std::string colored(const Ink& ink, StackState state, const std::string& text) {
  if (state == StackState::kNew || state == StackState::kGrown) return ink.red(text);
  return state == StackState::kUnknown ? ink.yellow(text) : ink.bold(text);
}

// Where the frame was, if its line is another one; the stacks have the same functions.
std::string was_text(const model::Frame& before, const model::Frame& frame) {
  const bool moved = !frame.file.empty() && !before.file.empty() && frame.line != before.line;
  return moved ? fmt::format(" (was {})", before.line) : "";
}

bool same_functions(const FrameList& before, const FrameList& after) {
  return before.size() == after.size() &&
         std::equal(before.begin(), before.end(), after.begin(),
                    [](const model::Frame& one, const model::Frame& other) { return one.function == other.function; });
}

std::string frames_text(const Ink& ink, const FrameList& frames, const FrameList& before, size_t depth) {
  const bool aligned = same_functions(before, frames);
  const size_t shown = depth == 0 ? frames.size() : std::min(frames.size(), depth);
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    const model::Frame& frame = frames[i];
    std::string place = base::safe_text(short_name(location_of(frame), kColumns / 2));
    place += (aligned ? was_text(before[i], frame) : "") + std::string(frame.inlined ? " (inlined)" : "");
    const size_t taken = kFrameIndent + 2 + place.size();
    const size_t room = std::max<size_t>(kColumns - std::min(kColumns, taken), 16);
    text += std::string(kFrameIndent, ' ') + base::safe_text(function_of(frame, room)) + "  " + ink.dim(place) + "\n";
  }
  if (shown < frames.size()) {
    text += std::string(kFrameIndent, ' ') + ink.dim(fmt::format("({} more)", frames.size() - shown)) + "\n";
  }
  return text;
}

std::string stack_text(const Comparison& comparison, const ComparedStack& stack, const ComparisonOptions& options,
                       const Ink& ink) {
  const FigureFacts& sort = facts_of(comparison.sort);
  const std::string change = change_text(sort.figure, stack.change(sort.figure));
  std::string text = fmt::format("\n  {}", colored(ink, stack.state, fmt::format("{} {}", change, sort.word)));
  text += fmt::format("  {}{}  {}  {}\n", name_of(stack.state), stack.moved ? ", moved" : "",
                      function_text(stack.function, stack.variant), ids_text(stack));
  text += wrapped(steps_of(comparison, stack), 4);
  const FrameList before = comparison.list(stack.frames_before);
  const FrameList frames = comparison.list(stack.frames);
  text += frames_text(ink, frames, before, options.depth);
  if (stack.moved && !same_functions(before, frames)) {
    text += fmt::format("    {}\n{}", ink.dim("before:"), frames_text(ink, before, {}, options.depth));
  }
  return text;
}

// One table, and below each of its rows where the stack is.
std::string series_text(const Comparison& comparison, size_t shown, const Ink& ink) {
  const std::vector<size_t> numbers = shown_recordings(comparison);
  std::vector<TextTable::Column> columns;
  for (const size_t number : numbers) columns.push_back({label_of(comparison, number), Align::kRight});
  columns.push_back({"growth", Align::kRight});
  TextTable table(std::move(columns), kColumns);
  for (size_t i = 0; i < shown; ++i) {
    const ComparedStack& stack = comparison.stacks[i];
    std::vector<std::string> cells;
    for (const size_t number : numbers) {
      cells.push_back(value_text(comparison.sort, stack.sides[number].figures[comparison.sort]));
    }
    cells.push_back(change_text(comparison.sort, stack.change(comparison.sort)));
    table.add(std::move(cells));
  }
  const std::string lines = table.render(ink);
  size_t begin = lines.find('\n') + 1;
  std::string text = lines.substr(0, begin);
  for (size_t i = 0; i < shown; ++i) {
    const ComparedStack& stack = comparison.stacks[i];
    const size_t end = lines.find('\n', begin) + 1;
    text += lines.substr(begin, end - begin);
    begin = end;
    const model::Frame* const frame = telling_frame(comparison.list(stack.frames));
    const std::string what = fmt::format("      {}{} from ", stack.growing ? "grows in each: " : "",
                                         function_text(stack.function, stack.variant));
    const size_t room = kColumns - std::min(kColumns - 16, what.size() + 30);
    text += (stack.growing ? ink.red(what) : what) + (frame == nullptr ? "an unknown caller" : describe(*frame, room)) +
            "\n";
  }
  return text;
}

std::string remarks_text(const Comparison& comparison, const Ink& ink) {
  std::string text;
  for (const std::string& remark : remarks_of(comparison)) {
    std::string lines = filled(fmt::format("! {}", base::safe_text(remark)), 2);
    lines.pop_back();
    text += ink.yellow(lines) + "\n";
  }
  return text.empty() ? text : fmt::format("\n{}", text);
}

std::string rest_text(const Comparison& comparison, size_t shown, const Ink& ink) {
  std::vector<std::string> parts;
  if (shown < comparison.stacks.size())
    parts.push_back(counted(comparison.stacks.size() - shown, "stack") + " more: -n N shows more");
  if (comparison.below_floor != 0) parts.push_back(counted(comparison.below_floor, "smaller change") + " left out");
  return parts.empty() ? "" : fmt::format("\n{}\n", ink.dim(fmt::format("({})", fmt::join(parts, "; "))));
}

}  // namespace

std::string value_text(Figure figure, const std::optional<uint64_t>& value) {
  if (!value) return "unknown";
  return facts_of(figure).is_bytes ? base::format_bytes(*value) : base::format_count(*value);
}

std::string change_text(Figure figure, const std::optional<int64_t>& change) {
  if (!change) return "unknown";
  const uint64_t size = *change < 0 ? 0 - static_cast<uint64_t>(*change) : static_cast<uint64_t>(*change);
  const char* const sign = *change < 0 ? "-" : *change > 0 ? "+" : "";
  return fmt::format("{}{}", sign, value_text(figure, size));
}

std::string percent_text(const std::optional<int64_t>& change, const std::optional<uint64_t>& before) {
  if (!change || !before || *before == 0 || *change == 0) return "";
  return fmt::format("{:+.1f}%", 100.0 * static_cast<double>(*change) / static_cast<double>(*before));
}

std::string label_of(const Comparison& comparison, size_t number) {
  if (comparison.recordings.size() == 2) return number == 0 ? "before" : "after";
  return fmt::format("{}", number + 1);
}

std::vector<std::string> remarks_of(const Comparison& comparison) {
  std::vector<std::string> remarks;
  for (size_t number = 0; number < comparison.recordings.size(); ++number) {
    for (const std::string& doubt : doubts_of(comparison.recordings[number], true)) {
      remarks.push_back(label_of(comparison, number) + ": " + doubt);
    }
  }
  for (const std::string& module : comparison.unmatched_modules) {
    remarks.push_back(module +
                      " differs between the recordings and its functions have no names: stacks through it are shown as "
                      "gone and new; --symbols DIR names them");
  }
  return remarks;
}

std::vector<std::string> missing_of(const Recording& recording, bool leaks) {
  const Totals& totals = recording.report.totals;
  std::vector<std::string> missing;
  if (leaks && !recording.at_ns && !recording.report.leaks.scanned)
    missing.emplace_back("no leak scan: leaks are unknown");
  if (!totals.peak_known || !totals.live_known || !recording.report.has_events)
    missing.emplace_back("recorded with --aggregate, which doesn't keep the peak of each stack, among others");
  return missing;
}

std::vector<std::string> doubts_of(const Recording& recording, bool leaks) {
  const Report& report = recording.report;
  std::vector<std::string> doubts = missing_of(recording, leaks);
  if (report.capture.lost_events != 0)
    doubts.push_back(counted(report.capture.lost_events, "event") + " were lost: the numbers are not exact");
  if (const std::string uncertainty = uncertainty_of(report); !uncertainty.empty()) doubts.push_back(uncertainty);
  if (report.capture.truncated)
    doubts.push_back("the trace is cut off or damaged, only the part before that is compared: " +
                     report.capture.damage);
  if (!report.capture.from_start)
    doubts.emplace_back("the capture began while the program ran: earlier allocations are not in it");
  if (recording.at_ns && *recording.at_ns > report.end_ns())
    doubts.push_back("the trace ends before, after " + base::format_duration(report.end_ns()));
  // At a moment before the first allocation there is nothing, whatever passes.
  const bool is_narrowed = report.unmatched && (report.unmatched->by_name || report.unmatched->by_thread);
  if (is_narrowed) doubts.emplace_back("nothing matches the filter");
  return doubts;
}

std::string render_comparison(const Comparison& comparison, const ComparisonOptions& options) {
  const Ink ink(options.color);
  std::string text;
  for (size_t number = 0; number < comparison.recordings.size(); ++number) text += title_text(comparison, number);
  if (const std::string& filter = comparison.recordings.front().report.filter; !filter.empty()) {
    text += ink.yellow("only: " + base::safe_text(filter)) + "\n";
  }
  for (size_t number = 0; number < comparison.recordings.size(); ++number) {
    if (const std::string ignored = ignored_text(comparison.recordings[number].report); !ignored.empty())
      text += ink.dim(label_of(comparison, number) + ": " + ignored) + "\n";
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

}  // namespace heaptap::report
