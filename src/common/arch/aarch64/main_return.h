// Registers at the program's ends, and the return from main.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/arch/aarch64/registers.h"

namespace heaptap::arch::aarch64 {

// What ending.S passes to the functions that choose: x0 to x8, which may have arguments, then those that calls preserve, x19 to x30,
// and one for alignment.
inline constexpr size_t kPassedRegisters = 9;
inline constexpr size_t kPreservedRegisters = 13;

// Whether a function that was called with the stack pointer at `sp`, and would return to `return_address`, has returned, and its
// caller has gone on to call another from nearby, which is still running: one of the frame records up to there has that call's
// return address, a few instructions further on, possibly signed. False also where the chain of records is broken: all of it lies close
// below, on the stack that runs.
[[gnu::always_inline]] inline bool has_returned(uintptr_t sp, uintptr_t return_address) {
  constexpr uintptr_t kFewInstructions = 64;
  constexpr unsigned kMaxRecords = 16;
  constexpr uintptr_t kLargest = 4096;  // of all these frames
  auto record = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  for (unsigned i = 0; i < kMaxRecords && record % sizeof(uintptr_t) == 0 && sp - record - 1 < kLargest; ++i) {
    const auto* const words = reinterpret_cast<const volatile uintptr_t*>(record);
    const uintptr_t outer = words[0];
    const uintptr_t now = words[1] & Unwinding().address_mask();
    if (now != return_address && now - return_address < kFewInstructions) return true;
    if (outer <= record) return false;
    record = outer;
  }
  return false;
}
// Lowest address of its caller's frame.
constexpr uintptr_t caller_sp(uintptr_t sp) { return sp; }

}  // namespace heaptap::arch::aarch64
