// Whether a command is installed.
#pragma once
#include <string>

namespace heaptap::base {

// By $PATH, or, of a name with a slash, by that path.
bool is_command(const std::string& name);

}  // namespace heaptap::base
