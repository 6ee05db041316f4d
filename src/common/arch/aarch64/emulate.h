// Emulation of A64 instructions that a breakpoint of the tracer may stand on: those of general registers. Not what is atomic, vectors, system registers, and what signs pointers, since their
// keys aren't known.
#pragma once
#include <stdint.h>

#include "common/arch/cpu.h"

namespace heaptap::arch::aarch64 {

// As Cpu::emulate. Memory is written at most once, as the last thing that may fail.
bool emulate(uint32_t instruction, uint64_t address, RegisterImage& registers, TargetMemory& memory);

// Whether that is possible where the memory is there.
bool can_emulate(uint32_t instruction);

}  // namespace heaptap::arch::aarch64
