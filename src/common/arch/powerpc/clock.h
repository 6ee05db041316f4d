// Clock of events: none. The time base can't be read in one piece, its rate is known to the kernel alone, and an emulator's isn't the
// same on all processors. So events are counted.
#pragma once
#include <stdint.h>

namespace heaptap::arch::powerpc {

inline constexpr const char* kKernelClock = nullptr;
inline bool clock_is_invariant() { return false; }
inline uint64_t read_clock() { return 0; }
inline uint64_t read_clock_behind() { return 0; }
inline uint64_t read_clock_in_order() { return 0; }

}  // namespace heaptap::arch::powerpc
