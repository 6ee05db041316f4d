// System calls without libc: no errno, no cancellation point. The result is the kernel's: -errno on failure.
#pragma once

namespace heaptap::arch::arm {

inline constexpr long kMapCall = 192;  // mmap2
inline constexpr long kMapOffsetUnit = 4096;

// The number is passed in r7, which the compiler may need as its frame pointer.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long r0 asm("r0") = a;
  register long r1 asm("r1") = b;
  register long r2 asm("r2") = c;
  register long r3 asm("r3") = d;
  register long r4 asm("r4") = e;
  register long r5 asm("r5") = f;
  long frame;
  asm volatile(
      "mov %[frame], r7\n\t"
      "mov r7, %[number]\n\t"
      "svc #0\n\t"
      "mov r7, %[frame]"
      : "+r"(r0), [frame] "=&r"(frame)
      : [number] "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
      : "memory", "cc");
  return r0;
}

}  // namespace heaptap::arch::arm
