// Characters of UTF-8 text from outside, which may be none.
#pragma once
#include <cstddef>
#include <string_view>

namespace heaptap::json {

struct Utf8Character {
  size_t length =
      1;  // in bytes; of a truncated one, of all bytes that could have been its start ("substitution of maximal
          // subparts", The Unicode Standard, 3.9)
  bool is_whole = false;  // well-formed
};
// Of a text that isn't empty.
Utf8Character first_character(std::string_view text);

}  // namespace heaptap::json
