// Columns that line up, and the few colours of the text views.
#pragma once
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

class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Two spaces before and between columns; no spaces at the ends of lines.
  [[nodiscard]] std::string render(const Ink& ink) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace heaptap::report
