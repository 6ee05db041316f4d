// Single-writer counters: one thread writes, others only read.
#pragma once
#include <stdint.h>

#include "common/wire/atomic_64.h"

namespace heaptap::arch::powerpc {

// There is no shorter way: a handler of the same thread may add as well, and a reader must not see half of a number.
inline void add_own(wire::Atomic64& counter, uint64_t amount) { counter.fetch_add(amount, std::memory_order_relaxed); }

}  // namespace heaptap::arch::powerpc
