#include "views/top/grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/display_width.h"
#include "analysis/findings/function_name.h"
#include "common/base/safe_text.h"

namespace heaptap::top {
namespace {

// The parameters of the escape sequence that begins a style; empty: none.
const char* escape_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kDim:
      return "2";
    case Style::kBold:
      return "1";
    case Style::kTitle:
      return "1;7";
    case Style::kAccent:
      return "36";
    case Style::kGood:
      return "32";
    case Style::kWarning:
      return "33";
    case Style::kBad:
      return "1;31";
    case Style::kHead:
      return "7";
    case Style::kHeadChosen:
      return "1;7;36";
    case Style::kSelected:
      return "1;7";
    case Style::kKey:
      return "1;36";
  }
  return "";
}

}  // namespace

Grid::Grid(size_t width, size_t height, bool ascii)
    : width_(width), height_(height), ascii_(ascii), cells_(width * height) {}

// The remaining half of a wide character whose other half is overwritten is a space.
void Grid::put_character(size_t x, size_t y, std::string_view character, size_t columns, Style style) {
  if (cell(x, y).text.empty() && x > 0) cell(x - 1, y).text.assign(1, ' ');
  const size_t behind = x + columns;
  if (behind < width_ && cell(behind, y).text.empty()) cell(behind, y).text.assign(1, ' ');
  cell(x, y) = {std::string(character), style};
  if (columns == 2) cell(x + 1, y) = {std::string(), style};
}

size_t Grid::put(size_t x, size_t y, std::string_view text, Style style, size_t most) {
  if (y >= height_ || x >= width_) return x;
  const size_t end = x + std::min(most, width_ - x);
  const std::string safe = base::safe_text(text);
  size_t last = width_;  // the place of the last character: combining marks belong to its cell
  for (size_t place = 0; place < safe.size();) {
    const auto [bytes, columns] = findings::first_character(std::string_view(safe).substr(place));
    const std::string_view character = std::string_view(safe).substr(place, bytes);
    place += bytes;
    if (columns == 0) {
      if (last < width_ && !ascii_ && cell(last, y).text.size() < 32) cell(last, y).text += character;
      continue;
    }
    if (x + columns > end) break;
    const bool replaced = ascii_ && static_cast<unsigned char>(character.front()) >= 0x80;
    put_character(x, y, replaced ? std::string_view("?") : character, replaced ? 1 : columns, style);
    last = x;
    x += replaced ? 1 : columns;
  }
  return x;
}

void Grid::put_right(size_t x, size_t y, size_t columns, std::string_view text, Style style) {
  const size_t taken = findings::shown_width(text);
  put(x + (taken < columns ? columns - taken : 0), y, text, style, std::min(taken, columns));
}

void Grid::restyle_line(size_t y, Style style) {
  if (y >= height_) return;
  for (size_t x = 0; x < width_; ++x) cell(x, y).style = style;
}

size_t Grid::end_of_line(size_t y) const {
  size_t end = width_;
  while (end > 0 && at(end - 1, y).text == " ") --end;
  return end;
}

std::string Grid::line(size_t y) const {
  std::string line;
  for (size_t x = 0, end = end_of_line(y); x < end; ++x) line += at(x, y).text;
  return line;
}

std::string Grid::text(bool color) const {
  std::string text;
  for (size_t y = 0; y < height_; ++y) {
    Style style = Style::kPlain;
    for (size_t x = 0, end = end_of_line(y); x < end; ++x) {
      const Cell& here = at(x, y);
      if (color && here.style != style) {
        if (style != Style::kPlain) text += "\x1b[0m";
        if (here.style != Style::kPlain) text += fmt::format("\x1b[{}m", escape_of(here.style));
      }
      style = here.style;
      text += here.text;
    }
    if (color && style != Style::kPlain) text += "\x1b[0m";
    text += '\n';
  }
  return text;
}

}  // namespace heaptap::top
