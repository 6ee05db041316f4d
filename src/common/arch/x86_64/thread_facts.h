// Thread facts of x86-64. Sources: Linux arch/x86/include/asm/user_64.h (user_regs_struct),
// arch/x86/include/uapi/asm/ucontext.h; System V ABI AMD64, figure 3.36 (DWARF register numbers), 3.2.2 (red zone).
#pragma once
#include "common/arch/thread_facts.h"
#include "common/arch/x86_64/registers.h"
#include "common/arch/x86_64/thread.h"

namespace heaptap::arch::x86_64 {

// rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, …
inline constexpr ScannedRegister kScannedRegisters[] = {
    {10 * 8, 0}, {12 * 8, 1}, {11 * 8, 2}, {5 * 8, 3},  {13 * 8, 4}, {14 * 8, 5}, {4 * 8, 6},  {19 * 8, 7},
    {9 * 8, 8},  {8 * 8, 9},  {7 * 8, 10}, {6 * 8, 11}, {3 * 8, 12}, {2 * 8, 13}, {1 * 8, 14}, {0 * 8, 15}};

inline constexpr ThreadFacts kThreadFacts = {
    .architecture = wire::Architecture::kX86_64,
    .word_bytes = 8,
    .highest_address = (uint64_t{1} << 47) - 1,
    .registers = kScannedRegisters,
    .preserved_registers = 1u << 3 | 1u << 6 | 0xfu << 12,  // rbx, rbp, r12 to r15
    .thread_pointer_place = ThreadPointerPlace::kRegister,
    .thread_pointer_offset = 21 * 8,  // fs_base
    .stack_pointer_number = 7,
    .thread_pointer_number = 58,  // fs.base
    .vector_number = 17,
    .later_vector_number = 67,
    .vector_count = 32,
    .red_zone_bytes = Unwinding::kRedZoneBytes,
    .context_stack = 16,
    .context_stack_pointer = Unwinding::kSignalStackPointer,
    .context_begins_at_end = true,
    .glibc_control_block_bytes = 2304,
    .glibc_thread_number = kGlibcThreadNumber,
};

}  // namespace heaptap::arch::x86_64
