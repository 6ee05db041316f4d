// Quoting of text as one word of a shell command line.
#pragma once
#include <string>
#include <string_view>

namespace heaptap::base {

// Always quoted.
std::string shell_quoted(std::string_view text);
// Quoted where needed.
std::string shell_word(std::string_view text);

}  // namespace heaptap::base
