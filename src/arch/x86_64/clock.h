// The clock that orders events: cheap, the same on all cores, never goes back. x86-64: the invariant time-stamp counter.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// Not ordered against earlier loads: the reading may be up to about 100 ns early. Who merges streams knows that.
inline uint64_t read_clock() { return __builtin_ia32_rdtsc(); }

}  // namespace heaptap::arch::x86_64
