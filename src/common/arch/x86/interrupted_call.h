// Results of a system call that a signal or a stop interrupted, in the kernel's numbers (sign-extended).
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86 {

inline constexpr uint64_t kInterrupted = static_cast<uint64_t>(-4);  // -EINTR
// The kernel starts the call again, or makes EINTR of it if there is a handler to be run first
// (-ERESTARTNOHAND; arch/x86/kernel/signal.c).
inline constexpr uint64_t kRestartUnlessHandled = static_cast<uint64_t>(-514);

}  // namespace heaptap::arch::x86
