// Leftovers of a hook in the registers that its caller doesn't expect to be kept.
#pragma once
#include <stdint.h>

namespace heaptap::arch::aarch64 {

// A hook's result, in its register, with the registers of arguments cleared, the place of a result's (x8) and the first temporary one: the loader's resolver, which is often what comes
// next, saves these on the stack, where a leak scan would take a block's address for a pointer to it (glibc, sysdeps/aarch64/dl-trampoline.S).
inline uintptr_t clear_leftovers(uintptr_t result) {
  register uintptr_t kept asm("x0") = result;
  asm volatile(
      "mov x1, xzr\n\tmov x2, xzr\n\tmov x3, xzr\n\tmov x4, xzr\n\tmov x5, xzr\n\tmov x6, xzr\n\tmov x7, xzr\n\t"
      "mov x8, xzr\n\tmov x9, xzr"
      : "+r"(kept)
      :
      : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9");
  return kept;
}

}  // namespace heaptap::arch::aarch64
