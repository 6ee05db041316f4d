// A picture of a terminal's screen: characters in cells, each with a style. What is put into it is made safe, whatever it holds.
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
  kTitle,       // the first line
  kAccent,      // sparklines
  kGood,        // memory went away
  kWarning,     // it grew; something needs attention
  kBad,         // lost events, leaks
  kHead,        // titles of columns,
  kHeadChosen,  // and of the one that is sorted by
  kSelected,
  kKey,  // in the last line
};

class Grid {
 public:
  struct Cell {
    std::string text = " ";  // one character with the marks over it; empty: the right half of the one before
    Style style = Style::kPlain;
    bool operator==(const Cell&) const = default;
  };
  // `ascii`: what isn't ASCII becomes "?".
  Grid(size_t width, size_t height, bool ascii = false);

  [[nodiscard]] size_t width() const { return width_; }
  [[nodiscard]] size_t height() const { return height_; }
  [[nodiscard]] const Cell& at(size_t x, size_t y) const { return cells_[y * width_ + x]; }

  static constexpr size_t kToTheEnd = ~size_t{0};
  // At most `most` columns, and only what is inside. The column behind it.
  size_t put(size_t x, size_t y, std::string_view text, Style style = Style::kPlain, size_t most = kToTheEnd);
  // At the right end of `columns` from x on.
  void put_right(size_t x, size_t y, size_t columns, std::string_view text, Style style = Style::kPlain);
  void restyle_line(size_t y, Style style);

  // Without spaces at the end.
  [[nodiscard]] std::string line(size_t y) const;
  // All lines, with their ends; `color`: with a terminal's escape sequences.
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
