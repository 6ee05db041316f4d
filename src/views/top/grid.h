// Screen contents: a grid of character cells, each with a style. Text is made safe for a terminal.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heaptap::top {

enum class Style : uint8_t {
  kPlain,
  kDim,
  kBold,
  kTitle,       // first line
  kAccent,      // sparklines
  kGood,        // memory shrank
  kWarning,     // memory grew, or attention needed
  kBad,         // lost events, leaks
  kHead,        // column titles
  kHeadChosen,  // title of the sort column
  kSelected,
  kKey,  // in the last line
};

class Grid {
 public:
  struct Cell {
    std::string text = " ";  // one character with its combining marks; empty: right half of a wide character
    Style style = Style::kPlain;
    bool operator==(const Cell&) const = default;
  };
  // `ascii`: non-ASCII characters become "?".
  Grid(size_t width, size_t height, bool ascii = false);

  [[nodiscard]] size_t width() const { return width_; }
  [[nodiscard]] size_t height() const { return height_; }
  [[nodiscard]] const Cell& at(size_t x, size_t y) const { return cells_[y * width_ + x]; }

  static constexpr size_t kToTheEnd = ~size_t{0};
  // Writes at most `most` columns, clipped to the grid. Returns the column after the text.
  size_t put(size_t x, size_t y, std::string_view text, Style style = Style::kPlain, size_t most = kToTheEnd);
  // Right-aligned in `columns` columns from x.
  void put_right(size_t x, size_t y, size_t columns, std::string_view text, Style style = Style::kPlain);
  void restyle_line(size_t y, Style style);

  // Without trailing spaces.
  [[nodiscard]] std::string line(size_t y) const;
  // All lines with newlines; `color`: with terminal escape sequences.
  [[nodiscard]] std::string text(bool color) const;

 private:
  Cell& cell(size_t x, size_t y) { return cells_[y * width_ + x]; }
  [[nodiscard]] size_t end_of_line(size_t y) const;
  void put_character(size_t x, size_t y, std::string_view character, size_t columns, Style style);

  size_t width_;
  size_t height_;
  bool ascii_;
  std::vector<Cell> cells_;
};

}  // namespace heaptap::top
