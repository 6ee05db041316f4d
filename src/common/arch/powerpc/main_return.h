// Registers at the program's ends, and the return from main.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::powerpc {

// What ending.S passes to the functions that choose: r3 to r10, which may have arguments, then those that calls preserve, r14 to r31,
// the return address, and the condition register.
inline constexpr size_t kPassedRegisters = 8;
inline constexpr size_t kPreservedRegisters = 20;

// Whether a function that was called with the stack pointer at `sp`, and would return to `return_address`, has returned, and its
// caller has gone on to call another from nearby, which is still running: that has saved its return address, a few instructions further
// on, in the caller's frame, where each function saves it (System V ABI, PowerPC Processor Supplement, 3-17).
[[gnu::always_inline]] inline bool has_returned(uintptr_t sp, uintptr_t return_address) {
  constexpr uintptr_t kFewInstructions = 64;
  const uintptr_t now = *reinterpret_cast<const volatile uintptr_t*>(sp + sizeof(uintptr_t));
  return now != return_address && now - return_address < kFewInstructions;
}
// Lowest address of its caller's frame.
constexpr uintptr_t caller_sp(uintptr_t sp) { return sp; }

}  // namespace heaptap::arch::powerpc
