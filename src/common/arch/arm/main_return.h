// Registers at the program's ends, and the return from main.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/arch/arm/registers.h"

namespace heaptap::arch::arm {

// What ending.S passes to the functions that choose: r0 to r3, which may have arguments, then those that calls preserve, r4 to r11, the
// return address, and one for alignment.
inline constexpr size_t kPassedRegisters = 4;
inline constexpr size_t kPreservedRegisters = 10;

// Whether a function that was called with the stack pointer at `sp`, and would return to `return_address`, has returned, and its
// caller has gone on to call another from nearby, which is still running: that has saved its return address, a few instructions further
// on, as the highest of its registers, right below `sp`.
[[gnu::always_inline]] inline bool has_returned(uintptr_t sp, uintptr_t return_address) {
  constexpr uintptr_t kFewInstructions = 64;
  const uintptr_t mask = Unwinding::address_mask();
  const uintptr_t now = *reinterpret_cast<const volatile uintptr_t*>(sp - sizeof(uintptr_t)) & mask;
  const uintptr_t before = return_address & mask;
  return now != before && now - before < kFewInstructions;
}
// Lowest address of its caller's frame.
constexpr uintptr_t caller_sp(uintptr_t sp) { return sp; }

}  // namespace heaptap::arch::arm
