// Thread pointer, and glibc's thread control block. Sources: ELF for the Arm Architecture, 5.8 (thread-local storage, variant 1: the
// static blocks begin behind the thread pointer); glibc sysdeps/arm/nptl/tls.h, nptl/descr.h.
#pragma once
#include <stdint.h>

namespace heaptap::arch::arm {

inline uintptr_t thread_pointer() {
  uintptr_t pointer;
  asm("mrc p15, 0, %0, c13, c0, 3" : "=r"(pointer));  // TPIDRURO
  return pointer;
}

// glibc's control block (struct pthread) ends where the thread pointer points; its size varies.
inline constexpr bool kControlBlockIsBelow = true;

// Offsets in it: of the kernel's thread number (tid), behind 24 words and a list of two, and of the mark of a thread that searches the
// loader's scopes (header.gscope_flag). The same in 2.28 to 2.41.
inline constexpr unsigned kGlibcThreadNumber = 104;
inline constexpr unsigned kGlibcSearchMark = 4;
inline constexpr unsigned kLastGlibcMinor = 41;

}  // namespace heaptap::arch::arm
