#include "views/text/fold.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/findings/function_name.h"

namespace heaptap::text {
namespace {

constexpr size_t kHanging = 2;
constexpr size_t kColumn = 20;  // text indented by this much is already in a column
constexpr std::string_view kNextCommand = "next:  ";

// Spaces, and the word after them.
struct Word {
  size_t spaces = 0;
  std::string_view text;
};

std::vector<Word> split_into_words(std::string_view line) {
  std::vector<Word> words;
  while (!line.empty()) {
    Word word{.spaces = std::min(line.find_first_not_of(' '), line.size()), .text = {}};
    line.remove_prefix(word.spaces);
    bool quoted = false;
    size_t end = 0;
    for (; end < line.size() && (quoted || line[end] != ' '); ++end) {
      if (line[end] == '`') quoted = !quoted && line.find('`', end + 1) != std::string_view::npos;
    }
    word.text = line.substr(0, end);
    line.remove_prefix(end);
    words.push_back(word);
  }
  return words;
}

// Indentation of the continuation lines: the last column that leaves two fifths of the width. Columns are far apart,
// except those after an option or a short number.
size_t hanging_indent(const std::vector<Word>& words, size_t width) {
  const bool is_option = words.front().text.starts_with('-');
  const size_t most = width * 3 / 5;
  size_t column = 0;
  size_t indent = words.front().spaces + (words.front().spaces < kColumn ? kHanging : 0);
  for (size_t i = 0; i < words.size(); ++i) {
    column += words[i].spaces;
    const bool is_near = is_option || column <= width / 8;
    if (i != 0 && words[i].spaces >= (is_near ? 2 : 3) && column <= most) indent = column;
    column += findings::shown_width(words[i].text);
  }
  return std::min(indent, most);
}

std::string fold_line(std::string_view line, size_t width, std::string_view prefix) {
  if (findings::shown_width(line) <= width || line.substr(prefix.size()).starts_with(kNextCommand))
    return std::string(line);
  line.remove_prefix(prefix.size());
  const std::vector<Word> words = split_into_words(line);
  const size_t room = width - std::min(findings::shown_width(prefix), width);
  const std::string indent(hanging_indent(words, room), ' ');
  std::string text(prefix);
  size_t column = 0;
  bool is_fresh = true;  // the line is still empty
  for (const Word& word : words) {
    const size_t wide = findings::shown_width(word.text);
    if (!is_fresh && column + word.spaces + wide > room) {
      text += '\n';
      text += prefix;
      text += indent;
      column = indent.size();
    } else {
      text.append(word.spaces, ' ');
      column += word.spaces;
    }
    text += word.text;
    column += wide;
    is_fresh = false;
  }
  return text;
}

}  // namespace

std::string folded(std::string_view text, size_t width, std::string_view prefix) {
  if (width == 0) return std::string(text);
  std::string all;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    all += fold_line(line, width, line.starts_with(prefix) ? prefix : "");
    if (end < text.size()) all += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::string Folding::add(std::string_view piece) {
  const size_t end = piece.rfind('\n');
  if (width_ == 0 || end == std::string_view::npos) {
    if (width_ == 0) return std::string(piece);
    begun_ += piece;
    return "";
  }
  begun_ += piece.substr(0, end + 1);
  std::string lines = folded(begun_, width_);
  begun_ = piece.substr(end + 1);
  return lines;
}

std::string Folding::rest() { return folded(std::exchange(begun_, {}), width_); }

}  // namespace heaptap::text
