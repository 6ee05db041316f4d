// Addresses and sizes of this process, of 64 bits where records and tables keep those of all CPUs.
#pragma once
#include <stdint.h>

namespace heaptap::agent {

// The same address: one of this process has no more bits than its pointers.
constexpr uintptr_t own_address(uint64_t address) { return static_cast<uintptr_t>(address); }

}  // namespace heaptap::agent
