// Search for an installed command.
#pragma once
#include <string>

namespace heaptap::base {

// In $PATH, or, for a name with a slash, at that path.
bool is_command(const std::string& name);

}  // namespace heaptap::base
