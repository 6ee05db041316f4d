// Leftovers of a hook in the registers that its caller doesn't expect to be kept.
#pragma once
#include <stdint.h>

namespace heaptap::arch::powerpc {

// A hook's result, in its register, with the registers of arguments cleared: the loader's resolver, which is often what comes
// next, saves these on the stack, where a leak scan would take a block's address for a pointer to it (glibc, sysdeps/powerpc/powerpc32/dl-trampoline.S).
inline uintptr_t clear_leftovers(uintptr_t result) {
  register uintptr_t kept asm("r3") = result;
  asm volatile("li 4, 0\n\tli 5, 0\n\tli 6, 0\n\tli 7, 0\n\tli 8, 0\n\tli 9, 0\n\tli 10, 0"
               : "+r"(kept)
               :
               : "r4", "r5", "r6", "r7", "r8", "r9", "r10");
  return kept;
}

}  // namespace heaptap::arch::powerpc
