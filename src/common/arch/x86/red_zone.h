// Red zone analysis: whether code can keep values below the stack pointer. Source: System V ABI AMD64, 3.2.2; GCC and
// LLVM use the red zone only in leaf functions.
#pragma once
#include <stdint.h>

#include <span>

#include "common/arch/x86/decode.h"

namespace heaptap::arch::x86 {

// `function`: all its instructions. `at`: offset of the program counter from its beginning. False only where
// - each instruction is understood, one of them begins at `at`, and
// - none has a memory operand, or forms an address, at a negative distance from the stack pointer, and
// - one of them is a call, or else the stack pointer is never copied (only pushed, popped and called with, moved by a constant
//   and the base of memory operands without an index) and no jump leaves the function or is indirect.
bool may_use_red_zone(Mode mode, std::span<const uint8_t> function, uint64_t at);

}  // namespace heaptap::arch::x86
