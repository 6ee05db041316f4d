// Clock of events: none. The generic timer's counter isn't on every ARMv7 CPU, and where it is, the kernel may forbid it to programs:
// reading it would end them. So events are counted.
#pragma once
#include <stdint.h>

namespace heaptap::arch::arm {

inline constexpr const char* kKernelClock = nullptr;
inline bool clock_is_invariant() { return false; }
inline uint64_t read_clock() { return 0; }
inline uint64_t read_clock_behind() { return 0; }
inline uint64_t read_clock_in_order() { return 0; }

}  // namespace heaptap::arch::arm
