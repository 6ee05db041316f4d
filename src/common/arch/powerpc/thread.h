// Thread pointer, and glibc's thread control block. Sources: Power Architecture 32-bit ABI Supplement, 3.7 (thread-local storage,
// variant 1: the static blocks begin 0x7000 bytes below what r2 has); glibc sysdeps/powerpc/nptl/tls.h, nptl/descr.h.
#pragma once
#include <stdint.h>

namespace heaptap::arch::powerpc {

// Where glibc's control block (struct pthread) ends: what debuggers and compilers find by r2, tcbhead_t, lies between it and the static
// blocks. From glibc 2.40 on it is larger.
inline uintptr_t thread_pointer() {
  constexpr uintptr_t kOffset = 0x7000;
  constexpr uintptr_t kHeaderBytes = 64;
  uintptr_t pointer;
  asm("mr %0, 2" : "=r"(pointer));
  return pointer - kOffset - kHeaderBytes;
}

inline constexpr bool kControlBlockIsBelow = true;

// Offsets in it: of the kernel's thread number (tid), behind 24 words and a list of two, and of the mark of a thread that searches the
// loader's scopes (header.gscope_flag).
inline constexpr unsigned kGlibcThreadNumber = 104;
inline constexpr unsigned kGlibcSearchMark = 4;
inline constexpr unsigned kLastGlibcMinor = 39;

}  // namespace heaptap::arch::powerpc
