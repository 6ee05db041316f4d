#include "views/text/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/findings/function_name.h"
#include "views/text/fold.h"

namespace heaptap::text {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kShortestBar = 8;
constexpr size_t kLongestBar = 40;
constexpr size_t kUsualWidth = 80;
constexpr size_t kHanging = 2;  // of further lines of a folded name

std::string bar_of(uint64_t value, uint64_t largest, size_t width) {
  if (value == 0) return "";
  const double share = static_cast<double>(value) / static_cast<double>(largest);
  const auto length = static_cast<size_t>(std::lround(share * static_cast<double>(width)));
  return length == 0 ? "." : std::string(length, '#');
}

size_t sum_of(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), size_t{0},
                         [](size_t sum, size_t each) { return sum + kGap + each; });
}

size_t longest_word(std::string_view text) {
  size_t longest = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    longest = std::max(longest, findings::shown_width(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return longest;
}

}  // namespace

std::vector<size_t> TextTable::whole_widths() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(findings::shown_width(column.title));
  for (const Row& row : rows_) {
    for (size_t i = 0; i < row.cells.size(); ++i) widths[i] = std::max(widths[i], findings::shown_width(row.cells[i]));
  }
  return widths;
}

TextTable::Layout TextTable::lay_out() const {
  Layout layout{.widths = whole_widths(), .below = last_below_};
  if (last_below_) layout.widths.back() = 0;
  if (width_ == 0 || sum_of(layout.widths) <= width_) return layout;
  // If the table is too wide, the names from the last column on are shortened.
  for (size_t i = columns_.size(); i-- > 0;) {
    if (columns_[i].align != Align::kLeft || columns_[i].is_whole) continue;
    const bool is_last = i + 1 == columns_.size();
    const size_t all = sum_of(layout.widths);
    const size_t surplus = all > width_ ? all - width_ : 0;
    const size_t usual = is_last ? kLeastRoom : std::max<size_t>(columns_[i].title.size(), 12);
    const size_t least = is_last && keeps_names_whole_ ? layout.widths[i] : std::min(layout.widths[i], usual);
    if (is_last && layout.widths[i] < least + surplus) {
      layout.below = true;
      layout.widths[i] = 0;
      continue;
    }
    layout.widths[i] -= std::min(surplus, layout.widths[i] - least);
  }
  return layout;
}

size_t TextTable::room_beside() const {
  std::vector<size_t> widths = whole_widths();
  widths.back() = 0;
  return width_ - std::min(width_, sum_of(widths));
}

std::string TextTable::line_of(const std::vector<std::string>& cells, const Layout& layout) const {
  std::string line;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (layout.below && i + 1 == columns_.size()) break;
    const bool is_name = columns_[i].align == Align::kLeft;
    const std::string cell = is_name ? findings::cut_middle(cells[i], layout.widths[i]) : cells[i];
    const std::string padding(layout.widths[i] - std::min(layout.widths[i], findings::shown_width(cell)), ' ');
    line += std::string(kGap, ' ') + (is_name ? cell + padding : padding + cell);
  }
  return line;
}

std::string TextTable::below_of(const std::vector<std::string>& cells, const Layout& layout) const {
  if (!layout.below || cells.back().empty()) return "";
  const std::string& cell = cells.back();
  const std::string indent(kIndentBelow, ' ');
  if (width_ == 0 || longest_word(cell) + kIndentBelow + kHanging > width_)
    return indent + findings::cut_middle(cell, room_below(width_)) + "\n";
  return folded(indent + cell, width_) + "\n";
}

std::string TextTable::render(const Ink& ink) const {
  const Layout layout = lay_out();
  uint64_t largest = 0;
  for (const Row& row : rows_) largest = std::max(largest, row.bar);
  const size_t figures = sum_of(layout.widths) + kGap;
  const size_t width = width_ == 0 ? kUsualWidth : width_;
  const size_t room = std::clamp(width > figures ? width - figures : 0, kShortestBar, kLongestBar);
  const size_t bars = std::min<uint64_t>(room, largest);  // at least one byte a character
  const auto trimmed = [](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string title = line_of(titles, layout);
  if (bar_unit_ != nullptr && largest != 0) title += "  # = " + bar_unit_(largest / bars);
  std::string text = ink.dim(trimmed(std::move(title))) + "\n";
  if (layout.below) text += ink.dim(below_of(titles, layout));
  for (const Row& row : rows_) {
    std::string line = line_of(row.cells, layout);
    if (bar_unit_ != nullptr) line += std::string(kGap, ' ') + bar_of(row.bar, largest, bars);
    text += trimmed(std::move(line)) + "\n" + below_of(row.cells, layout);
  }
  return text;
}

}  // namespace heaptap::text
