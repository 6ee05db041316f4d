// Spin-wait hint, for loops that wait for another processor without a system call.
#pragma once

namespace heaptap::arch::aarch64 {

// On many cores `yield` does nothing; a context synchronization takes about as long as x86's pause.
inline void relax() { asm volatile("isb" : : : "memory"); }

}  // namespace heaptap::arch::aarch64
