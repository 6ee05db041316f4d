// Call of a hook, seen from the hook: where a stack walk begins. The frame register is r31.
#pragma once
#include <stdint.h>

#include "common/arch/register_call_site.h"

namespace heaptap::arch::powerpc {

using CallSite = RegisterCallSite<~uintptr_t{0}>;

inline uintptr_t frame_register() {
  uintptr_t value;
  asm volatile("mr %0, 31" : "=r"(value));
  return value;
}

}  // namespace heaptap::arch::powerpc
