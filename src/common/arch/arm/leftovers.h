// Leftovers of a hook in the registers that its caller doesn't expect to be kept.
#pragma once
#include <stdint.h>

namespace heaptap::arch::arm {

// A hook's result, in its register, with the registers of arguments cleared: the loader's resolver, which is often what comes
// next, saves these on the stack, where a leak scan would take a block's address for a pointer to it (glibc, sysdeps/arm/dl-trampoline.S).
inline uintptr_t clear_leftovers(uintptr_t result) {
  register uintptr_t kept asm("r0") = result;
  asm volatile("mov r1, #0\n\tmov r2, #0\n\tmov r3, #0" : "+r"(kept) : : "r1", "r2", "r3");
  return kept;
}

}  // namespace heaptap::arch::arm
