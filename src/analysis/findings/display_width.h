// Display width of text in terminal columns: 2 for East Asian wide characters and emoji, 0 for combining marks and colour sequences.
#pragma once
#include <cstddef>
#include <string_view>

namespace heaptap::findings {

struct DisplayedCharacter {
  size_t bytes = 1;
  size_t columns = 1;
};

// First character, or escape sequence, of a non-empty text. A byte that isn't valid UTF-8 is one column.
DisplayedCharacter first_character(std::string_view text);

}  // namespace heaptap::findings
