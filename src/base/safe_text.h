// Text from outside on its way to a terminal or into a file's name: it may hold anything.
#pragma once
#include <string>
#include <string_view>

namespace heaptap::base {

// Control characters, characters that change the direction of writing, and what isn't UTF-8 become \xNN.
std::string safe_text(std::string_view text);

}  // namespace heaptap::base
