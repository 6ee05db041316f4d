#include "views/text/text_compared_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "analysis/findings/comparison_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/site_rows.h"

namespace heaptap::text {
namespace {

using findings::ComparedList;
using findings::ComparedRow;
using report::ComparedStack;
using report::Comparison;
using report::StackState;

constexpr size_t kMaxValueColumns = 5;  // of a series
constexpr size_t kFrameIndent = 6;
constexpr size_t kLeastFunctionColumns = 24;

std::string colored(const Ink& ink, StackState state, const std::string& text) {
  if (state == StackState::kNew || state == StackState::kGrown) return ink.red(text);
  return state == StackState::kUnknown ? ink.yellow(text) : ink.bold(text);
}

// Number of rows or stacks to show.
size_t limited(size_t limit, size_t count) { return limit == 0 ? count : std::min(count, limit); }

// Value in one recording. Of two recordings, the one without the stack has the state instead: "new", "gone".
std::string cell_of(const Comparison& comparison, const ComparedRow& row, size_t number) {
  const bool is_absent =
      (row.state == StackState::kNew && number == 0) || (row.state == StackState::kGone && number != 0);
  if (comparison.recordings.size() == 2 && is_absent) return std::string(report::name_of(row.state));
  return findings::value_text(comparison.sort, row.values[number]);
}

// At most `width` columns, if possible; 0: unlimited.
std::string site_text(const Comparison& comparison, const ComparedList& list, const ComparedRow& row, size_t width) {
  const report::StackEntry& sum = row.site.sum;
  std::string end = sum.mapping ? fmt::format("  ({})", findings::function_text(sum.function, sum.variant)) : "";
  if (row.growing) end += "  (grows in each)";
  const size_t room = width == 0 ? 0 : std::max(width, end.size() + 1) - end.size();
  return findings::site_line(list.text_of(row.recording), comparison.frames, row.site, room) + end;
}

// "#3  shop::open(int) app.cc:12" of a site with its callers.
std::string_view innermost_of(std::string_view site) { return site.substr(0, site.find(" < ")); }

// Sites beside the figures if none of them has its innermost function shortened for that, else on lines of their own.
void add_sites(TextTable& table, const Comparison& comparison, const ComparedList& list,
               std::span<const ComparedRow> rows, size_t width) {
  const size_t room = table.room_beside();
  const bool is_beside =
      width == 0 || (room != 0 && std::ranges::all_of(rows, [&](const ComparedRow& row) {
                       const std::string site = site_text(comparison, list, row, room);
                       const std::string whole = site_text(comparison, list, row, 0);
                       return findings::shown_width(site) <= room && site.starts_with(innermost_of(whole));
                     }));
  const size_t most = is_beside ? room : TextTable::room_below(width);
  for (size_t i = 0; i < rows.size(); ++i) table.set_last(i, site_text(comparison, list, rows[i], most));
  if (!is_beside) table.put_last_below();
}

ComparedText table_text(const Comparison& comparison, const ComparedList& list, const ComparisonOptions& options,
                        const Ink& ink) {
  const std::vector<ComparedRow> rows = list.rows();
  const std::vector<size_t> numbers = shown_recordings(comparison);
  std::vector<TextTable::Column> columns{{"change", Align::kRight}};
  for (const size_t number : numbers) columns.push_back({findings::label_of(comparison, number)});
  columns.push_back({"stack and site", Align::kLeft});
  TextTable table(std::move(columns), options.width);
  const size_t shown = limited(options.limit, rows.size());
  for (size_t i = 0; i < shown; ++i) {
    const ComparedRow& row = rows[i];
    std::vector<std::string> cells{colored(ink, row.state, findings::change_text(comparison.sort, row.change()))};
    for (const size_t number : numbers) cells.push_back(cell_of(comparison, row, number));
    cells.emplace_back();
    table.add(std::move(cells));
  }
  add_sites(table, comparison, list, std::span(rows).first(shown), options.width);
  ComparedText result{.text = shown == 0 ? "" : table.render(ink)};
  for (size_t i = shown; i < rows.size(); ++i) result.left_out += rows[i].site.ids.size();
  return result;
}

// "live 2.0 KiB -> 3.0 KiB"
std::string step_text(const Comparison& comparison, const ComparedStack& stack, report::Figure figure) {
  std::string text;
  for (const size_t number : shown_recordings(comparison)) {
    text += (text.empty() ? " " : " -> ") + findings::value_text(figure, stack.sides[number].figures[figure]);
  }
  return std::string(report::facts_of(figure).word) + text;
}

// All figures that changed, and the one sorted by.
std::vector<std::string> steps_of(const Comparison& comparison, const ComparedStack& stack) {
  std::vector<std::string> steps;
  for (const report::FigureFacts& facts : report::figures()) {
    const auto& before = stack.sides.front().figures[facts.figure];
    const auto& after = stack.sides.back().figures[facts.figure];
    if (facts.figure == comparison.sort || before != after) steps.push_back(step_text(comparison, stack, facts.figure));
  }
  return steps;
}

// Parts, with commas between them, in lines of at most `width` columns.
std::string joined_in_lines(const std::vector<std::string>& parts, size_t indent, size_t width) {
  std::string text, line(indent, ' ');
  for (const std::string& part : parts) {
    if (line.size() > indent && line.size() + part.size() + 2 > width) {
      text += line + "\n";
      line.assign(indent, ' ');
    }
    line += part + (&part == &parts.back() ? "" : ", ");
    if (line.ends_with(' ') && line.size() > width) line.pop_back();
  }
  text += line + "\n";
  for (size_t place = 0; (place = text.find(" \n", place)) != std::string::npos;) text.erase(place, 1);
  return text;
}

// "#3 -> #5"; "#5" of one recording alone.
std::string numbers_text(const ComparedStack& stack) {
  const auto text_of = [](const report::StackSide& side) {
    if (side.ids.empty()) return std::string();
    const size_t more = side.ids.size() - 1;
    return fmt::format("#{}{}", side.ids.front(), more == 0 ? "" : fmt::format(" (and {} more)", more));
  };
  const std::string before = text_of(stack.sides[ComparedList::first_of(stack)]);
  const std::string after = text_of(stack.sides[ComparedList::last_of(stack)]);
  return before == after ? after : before + " -> " + after;
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

std::string frame_lines(const findings::FrameText& text, const report::FrameList& frames,
                        const report::FrameList& before, const ComparisonOptions& options, const Ink& ink) {
  const std::string indent(kFrameIndent, ' ');
  const bool aligned = same_functions(before, frames);
  const size_t shown = limited(options.depth, frames.size());
  std::string lines;
  for (size_t i = 0; i < shown; ++i) {
    const model::Frame& frame = frames[i];
    std::string place = text.place(frame);
    place += (aligned ? was_text(before[i], frame) : "") + std::string(frame.inlined ? " (inlined)" : "");
    const size_t taken = kFrameIndent + 2 + findings::shown_width(place);
    const size_t room = std::max(kLeastFunctionColumns, options.width - std::min(options.width, taken));
    lines += indent + text.function(frame, room) + "  " + ink.dim(place) + "\n";
  }
  if (shown < frames.size()) lines += indent + ink.dim(fmt::format("({} more)", frames.size() - shown)) + "\n";
  return lines;
}

std::string whole_stack_text(const Comparison& comparison, const ComparedList& list, const ComparedStack& stack,
                             const ComparisonOptions& options, const Ink& ink) {
  const report::FigureFacts& sort = report::facts_of(comparison.sort);
  const std::string change = findings::change_text(sort.figure, stack.change(sort.figure));
  std::string text = fmt::format("\n  {}", colored(ink, stack.state, fmt::format("{} {}", change, sort.word)));
  text += fmt::format("  {}{}{}  {}  {}\n", report::name_of(stack.state), stack.growing ? " in each" : "",
                      stack.moved ? ", moved" : "", findings::function_text(stack.function, stack.variant),
                      numbers_text(stack));
  text += joined_in_lines(steps_of(comparison, stack), 4, options.width);
  const report::FrameList before = comparison.list(stack.frames_before);
  const report::FrameList frames = comparison.list(stack.frames);
  text += frame_lines(list.text_of(ComparedList::last_of(stack)), frames, before, options, ink);
  if (stack.moved && !same_functions(before, frames)) {
    text += fmt::format("    {}\n", ink.dim("before:"));
    text += frame_lines(list.text_of(ComparedList::first_of(stack)), before, {}, options, ink);
  }
  return text;
}

ComparedText whole_stacks_text(const Comparison& comparison, const ComparedList& list, const ComparisonOptions& options,
                               const Ink& ink) {
  const size_t shown = limited(options.limit, list.stacks().size());
  ComparedText result{.text = "", .left_out = list.stacks().size() - shown};
  for (size_t i = 0; i < shown; ++i) {
    result.text += whole_stack_text(comparison, list, *list.stacks()[i], options, ink);
  }
  return result;
}

}  // namespace

std::vector<size_t> shown_recordings(const Comparison& comparison) {
  const size_t count = comparison.recordings.size();
  std::vector<size_t> shown{0};
  for (size_t number = std::max(count, kMaxValueColumns) - kMaxValueColumns + 1; number < count; ++number) {
    shown.push_back(number);
  }
  return shown;
}

ComparedText compared_stacks_text(const Comparison& comparison, const findings::ComparedList& list,
                                  const ComparisonOptions& options, const Ink& ink) {
  return options.frames.full_stacks ? whole_stacks_text(comparison, list, options, ink)
                                    : table_text(comparison, list, options, ink);
}

}  // namespace heaptap::text
