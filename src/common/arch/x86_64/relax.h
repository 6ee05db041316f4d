// Spin-wait hint, for loops that wait for another processor without a system call.
#pragma once

namespace heaptap::arch::x86_64 {

inline void relax() { __builtin_ia32_pause(); }

}  // namespace heaptap::arch::x86_64
