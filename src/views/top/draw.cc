#include "views/top/draw.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "analysis/findings/function_name.h"
#include "common/base/safe_text.h"

namespace heaptap::top {
namespace {

constexpr std::array<std::string_view, 8> kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kAsciiBars{"_", ".", "-", "=", "+", "*", "#", "@"};
constexpr size_t kLeastOfPart = 16;  // of the status
constexpr size_t kFullWidth = 80;
constexpr size_t kFullHeight = 24;

// Escaped first: that takes more columns.
std::string fit(const std::string& text, size_t columns) {
  return findings::cut_middle(base::safe_text(text), columns);
}

class Drawing {
 public:
  Drawing(const Picture& picture, const Layout& layout, bool ascii)
      : picture_(picture), layout_(layout), ascii_(ascii), grid_(layout.width, layout.height, ascii) {}

  Drawn take() {
    if (layout_.width == 0 || layout_.height == 0) return {std::move(grid_), {}};
    draw_title();
    if (layout_.gauge_lines > 1) draw_gauges();
    if (layout_.gauge_lines == 1) draw_few_words();
    if (layout_.has_status) draw_status();
    if (picture_.mode == Mode::kStack || picture_.mode == Mode::kHelp) {
      draw_lines();
    } else {
      draw_rows();
    }
    if (layout_.has_keys) draw_keys();
    return {std::move(grid_), std::move(places_)};
  }

 private:
  void draw_title();
  void draw_gauges();
  void draw_gauge(const PictureGauge& gauge, size_t x, size_t y, size_t width);
  void draw_few_words();
  void draw_status();
  void draw_lines();
  void draw_rows();
  void draw_row(const PictureRow& row, size_t y);
  void draw_keys();
  void draw_head();

  const Picture& picture_;
  const Layout& layout_;
  bool ascii_;
  Grid grid_;
  Places places_;
};

// The time is at the right end, the program gets the remaining space.
void Drawing::draw_title() {
  const size_t width = layout_.width;
  std::string end;
  for (const StyledText& state : picture_.state) end += state.text + "  ";
  end += picture_.title_end;
  size_t end_width = findings::shown_width(end) + 1;
  if (end_width + 12 > width) {
    end = picture_.title_end;
    end_width = findings::shown_width(end) + 1;
  }
  if (end_width + 8 > width) end_width = 0;
  grid_.put(1, 0, fit(picture_.title, width > end_width + 3 ? width - end_width - 3 : width), Style::kTitle);
  grid_.restyle_line(0, Style::kTitle);
  if (end_width == 0) return;
  grid_.put_right(width - end_width, 0, end_width - 1, end, Style::kTitle);
  const bool needs_attention =
      std::ranges::any_of(picture_.state, [](const StyledText& text) { return text.style != Style::kPlain; });
  if (needs_attention && end != picture_.title_end) {
    size_t x = width - end_width;
    for (const StyledText& state : picture_.state) {
      const size_t next = x + findings::shown_width(state.text) + 2;
      if (state.style != Style::kPlain) grid_.put(x, 0, state.text, Style::kHeadChosen);
      x = next;
    }
  }
}

// A bar for each of the newest values, the last one at the right end.
void Drawing::draw_gauge(const PictureGauge& gauge, size_t x, size_t y, size_t width) {
  constexpr size_t kName = 9;
  constexpr size_t kValue = 10;
  grid_.put(x, y, gauge.name, Style::kDim, kName);
  grid_.put_right(x + kName, y, kValue, gauge.value, Style::kBold);
  const size_t begin = x + kName + kValue + 2;
  if (begin >= x + width) return;
  const size_t room = x + width - begin;
  const size_t shown = std::min(room, gauge.series.size());
  double most = gauge.most;
  for (size_t i = gauge.series.size() - shown; i < gauge.series.size() && gauge.most <= 0; ++i) {
    most = std::max(most, gauge.series[i].value_or(0));
  }
  for (size_t i = 0; i < shown; ++i) {
    const std::optional<double>& value = gauge.series[gauge.series.size() - shown + i];
    if (!value) continue;
    const double share = most <= 0 ? 0 : std::clamp(*value / most, 0.0, 1.0);
    const auto level = std::min<size_t>(static_cast<size_t>(share * kBars.size()), kBars.size() - 1);
    // `put` would replace the characters of a bar by question marks.
    grid_.put(begin + room - shown + i, y, (ascii_ ? kAsciiBars : kBars)[level], Style::kAccent);
  }
}

void Drawing::draw_gauges() {
  const size_t half = layout_.width / 2;
  for (size_t i = 0; i < picture_.gauges.size(); ++i) {
    const bool is_left = i % 2 == 0;
    draw_gauge(picture_.gauges[i], is_left ? 1 : half + 2, 1 + i / 2, is_left ? half - 2 : layout_.width - half - 3);
  }
}

void Drawing::draw_few_words() {
  size_t x = 1;
  for (const PictureGauge& gauge : picture_.gauges) {
    const size_t wanted = findings::shown_width(gauge.name) + findings::shown_width(gauge.value) + 1;
    if (x + wanted > layout_.width) return;
    x = grid_.put(x, 1, gauge.name + " ", Style::kDim);
    x = grid_.put(x, 1, gauge.value, Style::kBold) + 2;
  }
}

void Drawing::draw_status() {
  const size_t y = layout_.head_line() - 1;
  size_t x = 1;
  for (const StyledText& part : picture_.status) {
    const size_t room = layout_.width - std::min(x, layout_.width);
    const size_t wanted = findings::shown_width(base::safe_text(part.text));
    if (x > 1 && room < std::min(wanted, kLeastOfPart) + 3) return;
    if (x > 1) x = grid_.put(x, y, ascii_ ? " | " : " · ", Style::kDim);
    x = grid_.put(x, y, fit(part.text, layout_.width - x), part.style);
  }
}

void Drawing::draw_lines() {
  size_t y = layout_.head_line();
  for (const StyledText& line : picture_.lines) {
    std::string text = line.text;
    for (size_t at = 0; ascii_ && (at = text.find("…", at)) != std::string::npos;) text.replace(at, 3, "...");
    grid_.put(1, y++, text, line.style);
  }
}

void Drawing::draw_head() {
  const size_t y = layout_.head_line();
  if (y >= layout_.height) return;
  places_.head_line = y;
  grid_.restyle_line(y, Style::kHead);
  size_t x = 0;
  for (const PictureColumn& column : picture_.columns) {
    grid_.put_right(x, y, column.width + 1, column.title, column.chosen ? Style::kHeadChosen : Style::kHead);
    places_.columns.push_back({column.figure, x, x + column.width + 1});
    x += column.width + 1;
  }
  grid_.put(x + 2, y, picture_.name_title, Style::kHead);
}

void Drawing::draw_row(const PictureRow& row, size_t y) {
  size_t x = 0;
  for (size_t i = 0; i < picture_.columns.size(); ++i) {
    const size_t width = picture_.columns[i].width + 1;
    grid_.put_right(x, y, width, row.cells[i].text, row.cells[i].style);
    x += width;
  }
  x += 2;
  if (x >= layout_.width) return;
  const size_t room = layout_.width - x;
  const std::string* name = &row.name;
  for (const std::string& shorter : row.shorter_names) {
    if (findings::shown_width(base::safe_text(*name)) > room) name = &shorter;
  }
  grid_.put(x, y, fit(*name, room), row.named ? Style::kPlain : Style::kDim);
}

void Drawing::draw_rows() {
  const size_t head = layout_.head_line();
  if (!picture_.columns.empty()) draw_head();
  places_.first_row = head + 1;
  places_.row_count = picture_.rows.size();
  for (size_t i = 0; i < picture_.rows.size(); ++i) {
    draw_row(picture_.rows[i], head + 1 + i);
    if (picture_.selected == i) grid_.restyle_line(head + 1 + i, Style::kSelected);
  }
  if (picture_.rows.empty()) grid_.put(2, head + 2, picture_.no_rows, Style::kDim);
}

void Drawing::draw_keys() {
  const size_t y = layout_.height - 1;
  if (!picture_.prompt.empty()) {
    // The end is kept in sight, where text is typed.
    const size_t taken = findings::shown_width(picture_.prompt);
    const bool fits = taken + 3 <= layout_.width;
    const size_t x = grid_.put(1, y, fits ? picture_.prompt : fit(picture_.prompt, layout_.width - 2), Style::kBold);
    grid_.put(x, y, "_", Style::kKey);
    return;
  }
  size_t x = 1;
  for (const KeyHint& hint : picture_.keys) {
    const std::string key = ascii_ && hint.key == "↑↓" ? "Up/Down" : hint.key;
    const size_t wanted = findings::shown_width(key) + 1 + findings::shown_width(hint.meaning);
    if (x + wanted > layout_.width) break;
    x = grid_.put(x, y, key, Style::kKey);
    x = grid_.put(x + 1, y, hint.meaning, Style::kDim) + 2;
  }
  const bool is_small = layout_.width < kFullWidth || layout_.height < kFullHeight;
  constexpr std::string_view kSmall = "80x24 shows more";
  if (is_small && x + kSmall.size() + 1 <= layout_.width)
    grid_.put_right(x, y, layout_.width - x - 1, kSmall, Style::kWarning);
}

}  // namespace

Drawn draw(const Picture& picture, const Layout& layout, bool ascii) { return Drawing(picture, layout, ascii).take(); }

}  // namespace heaptap::top
