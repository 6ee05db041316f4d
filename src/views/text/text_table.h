// Aligned text tables, and the colours of the text views.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heaptap::text {

class Ink {
 public:
  explicit Ink(bool color) : color_(color) {}
  [[nodiscard]] std::string bold(const std::string& text) const { return wrap("1", text); }
  [[nodiscard]] std::string dim(const std::string& text) const { return wrap("2", text); }
  [[nodiscard]] std::string red(const std::string& text) const { return wrap("31", text); }
  [[nodiscard]] std::string yellow(const std::string& text) const { return wrap("33", text); }

 private:
  [[nodiscard]] std::string wrap(const char* code, const std::string& text) const {
    return color_ ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
  }
  bool color_;
};

enum class Align { kLeft, kRight };

// Table fitted to a terminal: figures stay whole; names, in left-aligned columns, are cut in the middle.
class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::kRight;
    bool is_whole = false;  // its names aren't cut
  };
  // `width` in columns; 0: unlimited.
  TextTable(std::vector<Column> columns, size_t width) : columns_(std::move(columns)), width_(width) {}

  void add(std::vector<std::string> cells) { rows_.push_back({std::move(cells), 0}); }
  // Adds a row with a bar in a last column of its own, proportional to `value`.
  void add(std::vector<std::string> cells, uint64_t value) { rows_.push_back({std::move(cells), value}); }
  // Replaces the last cell of a row.
  void set_last(size_t row, std::string cell) { rows_[row].cells.back() = std::move(cell); }
  // Sets the unit of the bars, shown as one character's value: "1.2 MiB". `unit` formats such a value.
  void name_bar_unit(std::string (*unit)(uint64_t)) { bar_unit_ = unit; }

  // A last column of names goes below unless all of them fit beside the others.
  void keep_names_whole() { keeps_names_whole_ = true; }

  // Two spaces before and between columns; no trailing spaces. If a last column of names has too little room, it goes on a line
  // of its own below each row.
  [[nodiscard]] std::string render(const Ink& ink) const;

  // Maximum width of a last column of names, beside the others or on lines of its own.
  [[nodiscard]] static constexpr size_t room_below(size_t width) { return width == 0 ? 0 : width - kIndentBelow; }

  // Columns left for a last column of names beside the rows so far; 0: none, or unlimited.
  [[nodiscard]] size_t room_beside() const;
  // Puts the last column on lines of its own, even if there is room.
  void put_last_below() { last_below_ = true; }

 private:
  static constexpr size_t kIndentBelow = 6;
  static constexpr size_t kLeastRoom = 36;

  struct Row {
    std::vector<std::string> cells;
    uint64_t bar = 0;
  };
  struct Layout {
    std::vector<size_t> widths;
    bool below = false;  // the last column
  };
  [[nodiscard]] std::vector<size_t> whole_widths() const;  // of columns, uncut
  [[nodiscard]] Layout lay_out() const;
  [[nodiscard]] std::string line_of(const std::vector<std::string>& cells, const Layout& layout) const;
  [[nodiscard]] std::string below_of(const std::vector<std::string>& cells, const Layout& layout) const;

  std::vector<Column> columns_;
  size_t width_;
  std::vector<Row> rows_;
  bool keeps_names_whole_ = false;
  bool last_below_ = false;
  std::string (*bar_unit_)(uint64_t) = nullptr;
};

}  // namespace heaptap::text
