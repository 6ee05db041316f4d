// Columns that line up, and the few colours of the text views.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heaptap::report {

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

// A table that fits a terminal: figures stay as they are; names, in left-aligned columns, are cut in the middle.
class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };
  // `width` characters; 0: any number.
  TextTable(std::vector<Column> columns, size_t width) : columns_(std::move(columns)), width_(width) {}

  void add(std::vector<std::string> cells) { rows_.push_back({std::move(cells), 0}); }
  // With a bar in a last column of its own, as long as `value` is large.
  void add(std::vector<std::string> cells, uint64_t value) { rows_.push_back({std::move(cells), value}); }
  // What a bar's character stands for: "1.2 MiB". Called with a number of the bars' values.
  void name_bar_unit(std::string (*unit)(uint64_t)) { bar_unit_ = unit; }

  // Two spaces before and between columns; no spaces at the ends of lines. A last column of names for which there is too
  // little room stands on lines of its own, below each row.
  [[nodiscard]] std::string render(const Ink& ink) const;

  // How much room a last column of names has that stands beside the others, or below them.
  [[nodiscard]] static constexpr size_t room_below(size_t width) { return width == 0 ? 0 : width - kIndentBelow; }

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
  [[nodiscard]] Layout lay_out() const;
  [[nodiscard]] std::string line_of(const std::vector<std::string>& cells, const Layout& layout) const;
  [[nodiscard]] std::string below_of(const std::vector<std::string>& cells, const Layout& layout) const;

  std::vector<Column> columns_;
  size_t width_;
  std::vector<Row> rows_;
  std::string (*bar_unit_)(uint64_t) = nullptr;
};

}  // namespace heaptap::report
