// Call of a hook, seen from the hook: where a stack walk begins. The frame register is r7.
#pragma once
#include <stdint.h>

#include "common/arch/register_call_site.h"

namespace heaptap::arch::arm {

// Without the bit that says which instruction set the caller has.
using CallSite = RegisterCallSite<~uintptr_t{1}>;

inline uintptr_t frame_register() {
  uintptr_t value;
  asm volatile("mov %0, r7" : "=r"(value));
  return value;
}

}  // namespace heaptap::arch::arm
