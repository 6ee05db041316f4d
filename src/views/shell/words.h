// Parsing of command lines: words and output redirection.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace heaptap::shell {

using Words = std::vector<std::string>;

enum class Redirection : uint8_t {
  kNone,
  kNewFile,  // > FILE: must not exist
  kReplace,  // >| FILE
  kAppend,   // >> FILE
  kCommand,  // | COMMAND, run by the shell
};

struct Line {
  Words words;
  Redirection redirection = Redirection::kNone;
  std::string target;  // a file, or a command as typed
};

// Words are separated by blanks. 'Single quotes' preserve everything, "double quotes" all but \" and \\, a backslash the next
// character. A comment starts with # at the line's start, or with a # that stands alone: #12 is a word.
base::Result<Line> parse_line(std::string_view text);

// Beginning of a line, up to the cursor.
struct PartialLine {
  Words words;                                   // complete ones
  std::string word;                              // at the cursor; may be empty
  size_t begin = 0;                              // start of that word in the text, with its quotes
  char quote = 0;                                // the open quote, or 0
  Redirection redirection = Redirection::kNone;  // that the word belongs to
};
PartialLine partial_line(std::string_view text);

// A word quoted for insertion, inside the quote that is open.
std::string typed_word(std::string_view word, char quote);

}  // namespace heaptap::shell
