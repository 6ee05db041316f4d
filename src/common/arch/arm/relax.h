// Spin-wait hint, for loops that wait for another processor without a system call.
#pragma once

namespace heaptap::arch::arm {

inline void relax() { asm volatile("yield" : : : "memory"); }

}  // namespace heaptap::arch::arm
