// A line of commands: its words, and where its output goes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heaptap::console {

using Words = std::vector<std::string>;

enum class Redirection : uint8_t {
  kNone,
  kNewFile,  // > FILE: which may not be there
  kReplace,  // >| FILE
  kAppend,   // >> FILE
  kCommand,  // | COMMAND, by the shell
};

struct Line {
  Words words;
  Redirection redirection = Redirection::kNone;
  std::string target;  // a file, or a command as it was typed
};

// Words stand between blanks. 'Single quotes' keep everything, "double quotes" all but \" and \\, a backslash the next character.
// A comment is what begins with # at the line's start, or with a # that stands alone: #12 is a word.
base::Result<Line> parse_line(std::string_view text);

// The beginning of a line, up to a cursor.
struct PartialLine {
  Words words;                                   // that are complete
  std::string word;                              // the one that the cursor is in or behind; may be empty
  size_t begin = 0;                              // where that one begins in the text, with its quotes
  char quote = 0;                                // the one that is open
  Redirection redirection = Redirection::kNone;  // the word belongs to
};
PartialLine partial_line(std::string_view text);

// A word as it has to be typed so that it is one, inside of the quote that is open.
std::string typed_word(std::string_view word, char quote);

}  // namespace heaptap::console
