// Embedded agent of this program, used where there is no agent file beside it.
#pragma once
#include <string>

namespace heaptap::target {

// A path from which this process's children can load it, during this process's lifetime; empty: none is embedded, or
// there is no memory or no /proc for it.
std::string unpack_carried_agent();

}  // namespace heaptap::target
