// Thread control block. Source: ELF Handling For Thread-Local Storage, 3.4.6 (x86-64: FS:0 holds its own address).
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// Offset of the kernel's thread number in glibc's control block (struct pthread, tid).
inline constexpr unsigned kGlibcThreadNumber = 720;

inline uintptr_t thread_control_block() {
  uintptr_t block;
  asm("mov %%fs:0, %0" : "=r"(block));
  return block;
}

// glibc's mark of a thread that searches the loader's scopes: tcbhead_t.gscope_flag (sysdeps/x86_64/nptl/tls.h, the
// same in 2.28 to 2.41). Returns the previous one.
inline uint32_t exchange_search_mark(uint32_t mark) {
  asm volatile("xchgl %0, %%fs:0x1c" : "+r"(mark) : : "memory");
  return mark;
}
// Sets the mark if there was none. Returns whether it did.
inline bool set_search_mark(uint32_t mark) {
  uint32_t before = 0;
  asm volatile("lock cmpxchgl %1, %%fs:0x1c" : "+a"(before) : "r"(mark) : "memory", "cc");
  return before == 0;
}
inline uintptr_t search_mark_address() { return thread_control_block() + 0x1c; }

}  // namespace heaptap::arch::x86_64
