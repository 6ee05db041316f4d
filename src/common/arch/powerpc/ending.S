// Tail-call entries of the preloaded library, which preserve the stack and the registers: each calls heaptap_…, which
// returns the address to jump to. No frame of the agent stays on the stack. Argument of heaptap_…: r3 to r10, all of which
// it may change; then r14 to r31, the return address and the condition register (arch/powerpc/main_return.h), which says to a function
// with a variable number of arguments whether floating-point registers have some.

        .macro pass_through name, chooser
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        stwu    1, -128(1)
        .cfi_def_cfa_offset 128
        mflr    0
        stw     0, 132(1)
        .cfi_offset 65, 4
        stmw    14, 48(1)
        .cfi_offset 31, -12
        stw     0, 120(1)
        mfcr    0
        stw     0, 124(1)
        stw     3, 16(1)
        stw     4, 20(1)
        stw     5, 24(1)
        stw     6, 28(1)
        stw     7, 32(1)
        stw     8, 36(1)
        stw     9, 40(1)
        stw     10, 44(1)
        addi    3, 1, 16
        bl      \chooser
        mtctr   3
        lwz     3, 16(1)
        lwz     4, 20(1)
        lwz     5, 24(1)
        lwz     6, 28(1)
        lwz     7, 32(1)
        lwz     8, 36(1)
        lwz     9, 40(1)
        lwz     10, 44(1)
        lwz     0, 124(1)
        mtcrf   255, 0
        lwz     0, 132(1)
        addi    1, 1, 128
        .cfi_def_cfa_offset 0
        .cfi_restore 31
        mtlr    0
        .cfi_restore 65
        bctr
        .cfi_endproc
        .size   \name, . - \name
        .endm

#include "common/arch/passed_through.inc"

// In place of main: notes where main's frame begins and what it returns to, registers a handler, and becomes main.
        .globl  heaptap_enter_main
        .hidden heaptap_enter_main
        .type   heaptap_enter_main, @function
heaptap_enter_main:
        .cfi_startproc
        stwu    1, -32(1)
        .cfi_def_cfa_offset 32
        mflr    0
        stw     0, 36(1)
        .cfi_offset 65, 4
        stw     3, 8(1)
        stw     4, 12(1)
        stw     5, 16(1)
        addi    10, 1, 32
        bcl     20, 31, 0f
0:      mflr    11
        addis   12, 11, heaptap_main_return-0b@ha
        stw     0, heaptap_main_return-0b@l(12)
        addis   12, 11, heaptap_main_slot-0b@ha
        stw     10, heaptap_main_slot-0b@l(12)
        bl      heaptap_before_main
        bcl     20, 31, 0f
0:      mflr    11
        addis   12, 11, heaptap_main-0b@ha
        lwz     12, heaptap_main-0b@l(12)
        mtctr   12
        lwz     3, 8(1)
        lwz     4, 12(1)
        lwz     5, 16(1)
        lwz     0, 36(1)
        addi    1, 1, 32
        .cfi_def_cfa_offset 0
        mtlr    0
        .cfi_restore 65
        bctr
        .cfi_endproc
        .size   heaptap_enter_main, . - heaptap_enter_main
#include "common/arch/powerpc/notes.inc"
