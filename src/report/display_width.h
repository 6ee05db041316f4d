// How many columns of a terminal a text takes: characters of East Asian scripts and emoji take two, marks that are put over another
// character and colours none.
#pragma once
#include <cstddef>
#include <string_view>

namespace heaptap::report {

struct DisplayedCharacter {
  size_t bytes = 1;
  size_t columns = 1;
};

// The first character of a text that isn't empty, or the escape sequence that it begins with. A byte that is no UTF-8 is one column.
DisplayedCharacter first_character(std::string_view text);

}  // namespace heaptap::report
