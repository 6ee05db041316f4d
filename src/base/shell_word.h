// Text as one word of a shell's command line.
#pragma once
#include <string>
#include <string_view>

namespace heaptap::base {

// Between quotes.
std::string shell_quoted(std::string_view text);
// Between quotes where it needs them.
std::string shell_word(std::string_view text);

}  // namespace heaptap::base
