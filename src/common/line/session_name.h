// Session name: a secret known only to the session's two ends.
#pragma once
#include <string>

namespace heaptap::line {

// kSessionBytes random bytes.
std::string new_session_name();

}  // namespace heaptap::line
