// Escaping of untrusted text for terminals and file names.
#pragma once
#include <string>
#include <string_view>

namespace heaptap::base {

// Control characters, bidirectional formatting characters and invalid UTF-8 become \xNN.
std::string safe_text(std::string_view text);

}  // namespace heaptap::base
