// Thread facts of AArch64. Sources: Linux arch/arm64/include/uapi/asm/{ptrace,ucontext}.h; Procedure Call Standard for the Arm 64-bit
// Architecture, 6.1.1 (preserved registers); DWARF for the Arm 64-bit Architecture, 4.1 (register numbers).
#pragma once
#include "common/arch/aarch64/registers.h"
#include "common/arch/aarch64/thread.h"
#include "common/arch/thread_facts.h"

namespace heaptap::arch::aarch64 {

// x0 to x30, sp
inline constexpr ScannedRegister kScannedRegisters[] = {
    {0 * 8, 0},   {1 * 8, 1},   {2 * 8, 2},   {3 * 8, 3},   {4 * 8, 4},   {5 * 8, 5},   {6 * 8, 6},   {7 * 8, 7},
    {8 * 8, 8},   {9 * 8, 9},   {10 * 8, 10}, {11 * 8, 11}, {12 * 8, 12}, {13 * 8, 13}, {14 * 8, 14}, {15 * 8, 15},
    {16 * 8, 16}, {17 * 8, 17}, {18 * 8, 18}, {19 * 8, 19}, {20 * 8, 20}, {21 * 8, 21}, {22 * 8, 22}, {23 * 8, 23},
    {24 * 8, 24}, {25 * 8, 25}, {26 * 8, 26}, {27 * 8, 27}, {28 * 8, 28}, {29 * 8, 29}, {30 * 8, 30}, {31 * 8, 31}};

inline constexpr ThreadFacts kThreadFacts = {
    .architecture = wire::Architecture::kAArch64,
    .word_bytes = 8,
    .highest_address = (uint64_t{1} << 48) - 1,
    .registers = kScannedRegisters,
    .preserved_registers = 0x7ffu << 19,  // x19 to x29
    .thread_pointer_place = ThreadPointerPlace::kRegisterSet,
    .thread_pointer_offset = 0x401,  // NT_ARM_TLS
    .stack_pointer_number = Unwinding::kStackPointer,
    .thread_pointer_number = 36,  // TPIDR_EL0
    .vector_number = 64,
    .later_vector_number = 80,
    .vector_count = 32,
    .red_zone_bytes = Unwinding::kRedZoneBytes,
    .context_stack = 16,
    .context_stack_pointer = Unwinding::kSignalStackPointer - Unwinding::kSignalContext,
    .near_call_opcode = 0,
    .near_call_bytes = 0,  // makecontext leaves nothing on the stack
    .glibc_control_block_bytes = 1856,
    .glibc_thread_number = kGlibcThreadNumber,
};

}  // namespace heaptap::arch::aarch64
