#include "report/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace heaptap::report {

std::string TextTable::render(const Ink& ink) const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) {
    widths.push_back(column.title.size());
  }
  for (const auto& row : rows_) {
    for (size_t index = 0; index < row.size(); ++index) {
      widths[index] = std::max(widths[index], row[index].size());
    }
  }
  const auto line_of = [&](const auto& text_of) {
    std::string line;
    for (size_t index = 0; index < columns_.size(); ++index) {
      const bool left = columns_[index].align == Align::kLeft;
      line += left ? fmt::format("  {:<{}}", text_of(index), widths[index])
                   : fmt::format("  {:>{}}", text_of(index), widths[index]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  std::string text = ink.dim(line_of([&](size_t index) -> const std::string& { return columns_[index].title; })) + "\n";
  for (const auto& row : rows_) {
    text += line_of([&](size_t index) -> const std::string& { return row[index]; }) + "\n";
  }
  return text;
}

}  // namespace heaptap::report
