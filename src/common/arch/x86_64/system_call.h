// System calls without libc: no errno, no cancellation point. The result is the kernel's: -errno on failure.
#pragma once

namespace heaptap::arch::x86_64 {

inline constexpr long kMapCall = 9;
inline constexpr long kMapOffsetUnit = 1;

inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

}  // namespace heaptap::arch::x86_64
