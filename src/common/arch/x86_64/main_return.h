// Registers at the program's ends, and the return from main.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// What ending.S passes to the functions that choose: registers that may have arguments, then those that calls preserve.
inline constexpr size_t kPassedRegisters = 7;
inline constexpr size_t kPreservedRegisters = 6;

// Whether a function that was called with the stack pointer at `slot`, and would return to `return_address`, has returned, and its
// caller has gone on to call another from nearby: the same place on the stack then holds that call's return address, a few
// instructions further on.
[[gnu::always_inline]] inline bool has_returned(uintptr_t slot, uintptr_t return_address) {
  constexpr uintptr_t kFewInstructions = 64;
  const uintptr_t now = *reinterpret_cast<const volatile uintptr_t*>(slot);
  return now != return_address && now - return_address < kFewInstructions;
}
// Lowest address of its caller's frame.
constexpr uintptr_t caller_sp(uintptr_t slot) { return slot + sizeof(uintptr_t); }

}  // namespace heaptap::arch::x86_64
