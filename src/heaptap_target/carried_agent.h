// The agent that this program carries, for where its file isn't beside it.
#pragma once
#include <string>

namespace heaptap::target {

// A path by which this process's children can load it, as long as this process lives; empty: it carries none, or there is no memory
// or no /proc for it.
std::string unpack_carried_agent();

}  // namespace heaptap::target
