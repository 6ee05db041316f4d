// Reads from a log what the agent tells of memory that a scan for leaks can't know from outside. Nothing of it is trusted.
#pragma once
#include <cstdint>
#include <vector>

#include "base/address_range.h"
#include "log/log_parts.h"

namespace heaptap::log {

// Stacks that the program set up for itself: alternate ones of signals, and those of contexts (some may be gone meanwhile).
std::vector<wire::StackArea> read_stack_areas(const LogParts& log);

// What the agent mapped for itself: no place to look for the program's pointers. In order of addresses.
std::vector<base::AddressRange> read_own_areas(const LogParts& log);

}  // namespace heaptap::log
