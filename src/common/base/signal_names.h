// Signals by name, as kill(1) takes them.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace heaptap::base {

// "USR1", "SIGUSR1", "RTMIN+3", "RTMAX-1", "10"; case-insensitive. None: no such signal.
std::optional<int> signal_number(std::string_view name);
// "USR1", "RTMIN+3"; the number where it has no name.
std::string signal_name(int number);

}  // namespace heaptap::base
