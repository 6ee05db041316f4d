// Thread pointer, and glibc's thread control block. Sources: ELF for the Arm 64-bit Architecture, 5.8 (thread-local storage, variant 1:
// the static blocks begin behind the thread pointer); glibc sysdeps/aarch64/nptl/tls.h, nptl/descr.h.
#pragma once
#include <stdint.h>

namespace heaptap::arch::aarch64 {

inline uintptr_t thread_pointer() {
  uintptr_t pointer;
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
  return pointer;
}

// glibc's control block (struct pthread) ends where the thread pointer points; its size varies.
inline constexpr bool kControlBlockIsBelow = true;

// Offsets in it: of the kernel's thread number (tid), and of the mark of a thread that searches the loader's scopes
// (header.gscope_flag). The same in 2.28 to 2.41.
inline constexpr unsigned kGlibcThreadNumber = 208;
inline constexpr unsigned kGlibcSearchMark = 4;
inline constexpr unsigned kLastGlibcMinor = 41;

}  // namespace heaptap::arch::aarch64
