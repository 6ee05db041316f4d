// Leftovers of a hook in the registers that its caller doesn't expect to be kept.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// A hook's result, in its register, with the registers of arguments cleared: the loader's resolver, which is often what comes
// next, saves these on the stack, where a leak scan would take a block's address for a pointer to it (glibc, sysdeps/x86_64/dl-trampoline.h).
inline uintptr_t clear_leftovers(uintptr_t result) {
  register uintptr_t kept asm("rax") = result;
  asm volatile(
      "xor %%edi, %%edi\n\txor %%esi, %%esi\n\txor %%edx, %%edx\n\txor %%ecx, %%ecx\n\txor %%r8d, %%r8d\n\txor %%r9d, "
      "%%r9d"
      : "+r"(kept)
      :
      : "rdi", "rsi", "rdx", "rcx", "r8", "r9", "cc");
  return kept;
}

}  // namespace heaptap::arch::x86_64
