// System calls without libc: no errno, no cancellation point. The result is the kernel's: -errno on failure, which on this CPU is errno
// and the summary overflow bit of CR0.
#pragma once

namespace heaptap::arch::powerpc {

inline constexpr long kMapCall = 192;  // mmap2
inline constexpr long kMapOffsetUnit = 4096;

inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long r0 asm("r0") = number;
  register long r3 asm("r3") = a;
  register long r4 asm("r4") = b;
  register long r5 asm("r5") = c;
  register long r6 asm("r6") = d;
  register long r7 asm("r7") = e;
  register long r8 asm("r8") = f;
  asm volatile(
      "sc\n\t"
      "bns+ 0f\n\t"
      "neg 3, 3\n"
      "0:"
      : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
      :
      : "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
  return r3;
}

}  // namespace heaptap::arch::powerpc
