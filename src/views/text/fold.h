// Folding of text output at spaces, to the terminal's width. Text without spaces stays whole, and so does text to be copied: a command
// between `backticks`, and a line that names the next command.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace heaptap::text {

// Continuation lines are indented below the first one's text: two spaces more, or to its last column if it has columns. `prefix`:
// start of each line, such as "heaptap: ". `width` 0: no folding.
std::string folded(std::string_view text, size_t width, std::string_view prefix = "");

// Same for text that arrives in pieces.
class Folding {
 public:
  explicit Folding(size_t width) : width_(width) {}
  // Returns the complete lines so far, folded.
  std::string add(std::string_view piece);
  std::string rest();

 private:
  size_t width_;
  std::string begun_;  // incomplete last line
};

}  // namespace heaptap::text
