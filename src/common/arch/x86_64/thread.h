// Thread pointer, and glibc's thread control block. Sources: ELF Handling For Thread-Local Storage, 3.4.6 (x86-64: FS:0 holds its own
// address); glibc sysdeps/x86_64/nptl/tls.h, nptl/descr.h.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

inline uintptr_t thread_pointer() {
  uintptr_t pointer;
  asm("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

// glibc's control block (struct pthread) begins where the thread pointer points, with that address.
inline constexpr bool kControlBlockIsBelow = false;

// Offsets in it: of the kernel's thread number (tid), and of the mark of a thread that searches the loader's scopes
// (tcbhead_t.gscope_flag). The same in 2.28 to 2.41.
inline constexpr unsigned kGlibcThreadNumber = 720;
inline constexpr unsigned kGlibcSearchMark = 0x1c;
inline constexpr unsigned kLastGlibcMinor = 41;

}  // namespace heaptap::arch::x86_64
