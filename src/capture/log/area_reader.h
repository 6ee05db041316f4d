// Reader of memory areas in a log, which the agent reports for leak scans and which can't be seen from outside. Trusts nothing.
#pragma once
#include <cstdint>
#include <vector>

#include "capture/log/log_parts.h"
#include "common/base/address_range.h"

namespace heaptap::log {

// The program's own stacks: alternate signal stacks and context stacks (some may no longer exist).
std::vector<wire::StackArea> read_stack_areas(const LogParts& log);

// The agent's own mappings: not searched for the program's pointers. Ascending.
std::vector<base::AddressRange> read_own_areas(const LogParts& log);

}  // namespace heaptap::log
