// Thread facts of i386. Sources: Linux arch/x86/include/asm/user_32.h (user_regs_struct),
// arch/x86/include/uapi/asm/{ucontext,sigcontext,ldt,ptrace-abi}.h; System V ABI Intel386, table 2.14 (DWARF register
// numbers); ELF Handling For Thread-Local Storage, 3.4.2 (the control block is at the base of GS).
#pragma once
#include "common/arch/i386/registers.h"
#include "common/arch/thread_facts.h"

namespace heaptap::arch::i386 {

// eax, ecx, edx, ebx, esp, ebp, esi, edi
inline constexpr ScannedRegister kScannedRegisters[] = {{6 * 4, 0},  {1 * 4, 1}, {2 * 4, 2}, {0 * 4, 3},
                                                        {15 * 4, 4}, {5 * 4, 5}, {3 * 4, 6}, {4 * 4, 7}};

inline constexpr ThreadFacts kThreadFacts = {
    .architecture = wire::Architecture::kI386,
    .word_bytes = 4,
    .highest_address = 0xffffffff,
    .registers = kScannedRegisters,
    .preserved_registers = 1u << 3 | 1u << 5 | 1u << 6 | 1u << 7,  // ebx, ebp, esi, edi
    .thread_pointer_place = ThreadPointerPlace::kDescriptor,
    .thread_pointer_offset = 10 * 4,                                 // gs
    .segment_descriptor = {.ptrace_request = 25, .base_offset = 4},  // PTRACE_GET_THREAD_AREA, struct user_desc
    .stack_pointer_number = 4,
    .thread_pointer_number = 94,  // gs.base
    .vector_number = 21,
    .later_vector_number = 0,
    .vector_count = 8,
    .red_zone_bytes = Unwinding::kRedZoneBytes,
    .context_stack = 8,                   // behind flags and link
    .context_stack_pointer = 20 + 7 * 4,  // behind the stack; gs, fs, es, ds, edi, esi, ebp, esp
    .glibc_control_block_bytes = 1216,
    .glibc_thread_number = 104,
};

}  // namespace heaptap::arch::i386
