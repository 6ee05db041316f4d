// The thread control block. Source: ELF Handling For Thread-Local Storage, 3.4.6 (x86-64: FS:0 holds its own address).
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// Where glibc has the kernel's number of a thread (struct pthread, tid), from the start of its control block.
inline constexpr unsigned kGlibcThreadNumber = 720;

inline uintptr_t thread_control_block() {
  uintptr_t block;
  asm("mov %%fs:0, %0" : "=r"(block));
  return block;
}

}  // namespace heaptap::arch::x86_64
