// Spin-wait hint, for loops that wait for another processor without a system call.
#pragma once

namespace heaptap::arch::powerpc {

// Lowers the thread's priority and takes it back, where the CPU has priorities (Power ISA, Book II, 3.2).
inline void relax() { asm volatile("or 1, 1, 1\n\tor 2, 2, 2" : : : "memory"); }

}  // namespace heaptap::arch::powerpc
