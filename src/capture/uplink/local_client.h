// Clients of local consoles (local_console.h), of this user's recordings by heaptap-target on this machine.
#pragma once
#include <string>
#include <vector>

namespace heaptap::uplink {

// Answers of all that are trusted. Waits a few seconds for each.
std::vector<std::string> ask_local_consoles(const std::string& question);

}  // namespace heaptap::uplink
