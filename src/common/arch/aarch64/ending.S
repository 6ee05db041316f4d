// Tail-call entries of the preloaded library, which preserve the stack and the registers: each calls heaptap_…, which
// returns the address to jump to. No frame of the agent stays on the stack. Argument of heaptap_…: x0 to x8, all of which
// it may change; then x19 to x30 (arch/aarch64/main_return.h).

        .macro pass_through name, chooser
        .globl  \name
        .type   \name, %function
\name:
        .cfi_startproc
        bti     c
        sub     sp, sp, #176
        .cfi_def_cfa_offset 176
        stp     x0, x1, [sp]
        stp     x2, x3, [sp, #16]
        stp     x4, x5, [sp, #32]
        stp     x6, x7, [sp, #48]
        stp     x8, x19, [sp, #64]
        stp     x20, x21, [sp, #80]
        stp     x22, x23, [sp, #96]
        stp     x24, x25, [sp, #112]
        stp     x26, x27, [sp, #128]
        stp     x28, x29, [sp, #144]
        stp     x30, xzr, [sp, #160]
        .cfi_offset x29, -24
        .cfi_offset x30, -16
        mov     x0, sp
        bl      \chooser
        mov     x16, x0
        ldp     x0, x1, [sp]
        ldp     x2, x3, [sp, #16]
        ldp     x4, x5, [sp, #32]
        ldp     x6, x7, [sp, #48]
        ldr     x8, [sp, #64]
        ldr     x30, [sp, #160]
        add     sp, sp, #176
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        br      x16
        .cfi_endproc
        .size   \name, . - \name
        .endm

#include "common/arch/passed_through.inc"

// In place of main: notes where main's frame begins and what it returns to, registers a handler, and becomes main.
        .globl  heaptap_enter_main
        .hidden heaptap_enter_main
        .type   heaptap_enter_main, %function
heaptap_enter_main:
        .cfi_startproc
        bti     c
        adrp    x16, heaptap_main_return
        str     x30, [x16, #:lo12:heaptap_main_return]
        mov     x17, sp
        adrp    x16, heaptap_main_slot
        str     x17, [x16, #:lo12:heaptap_main_slot]
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        str     x2, [sp, #32]
        bl      heaptap_before_main
        ldp     x0, x1, [sp, #16]
        ldr     x2, [sp, #32]
        ldp     x29, x30, [sp], #48
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        adrp    x16, heaptap_main
        ldr     x16, [x16, #:lo12:heaptap_main]
        br      x16
        .cfi_endproc
        .size   heaptap_enter_main, . - heaptap_enter_main
#include "common/arch/aarch64/notes.inc"
