// What a session is known by to its two ends, and to nobody else.
#pragma once
#include <string>

namespace heaptap::remote {

// kSessionBytes that nobody guesses.
std::string new_session_name();

}  // namespace heaptap::remote
