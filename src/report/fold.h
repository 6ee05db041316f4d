// Lines of text for people, folded at spaces so that a terminal's lines hold them. What has no space in it stays whole, and so
// does what is to be copied: a command between `backticks`, and a line that names the next command.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace heaptap::report {

// Further lines begin below the text of the first one: behind its indentation and two spaces more, or at its last column where it
// has columns. `prefix`: what every line begins with, such as "heaptap: ". `width` 0: nothing is folded.
std::string folded(std::string_view text, size_t width, std::string_view prefix = "");

// The same of a text that comes in pieces.
class Folder {
 public:
  explicit Folder(size_t width) : width_(width) {}
  // What of the text so far is whole lines.
  std::string add(std::string_view piece);
  std::string rest();

 private:
  size_t width_;
  std::string begun_;  // a line without its end
};

}  // namespace heaptap::report
