// Name of this machine, and what is displayed of it.
#pragma once
#include <string>
#include <string_view>

namespace heaptap::network {

// As gethostname() has it; empty: unknown.
std::string machine_name();
// The part before the first dot; "heaptap" if the name is empty. Default name of an announced service, and of a paired target.
std::string display_name(std::string_view machine);

}  // namespace heaptap::network
