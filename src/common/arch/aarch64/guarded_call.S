// heaptap_guarded_call(function, a, b, c): calls function(a, b, c). Reports an exception that passes through this frame
// to heaptap_guard_passed, through the frame's personality routine; nothing is caught.
        .text
        .globl  heaptap_guarded_call
        .hidden heaptap_guarded_call
        .type   heaptap_guarded_call, %function
heaptap_guarded_call:
        .cfi_startproc
        .cfi_personality 0x1b, heaptap_guard_personality
        bti     c
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        mov     x9, x0
        mov     x0, x1
        mov     x1, x2
        mov     x2, x3
        blr     x9
        ldp     x29, x30, [sp], #16
        .cfi_restore x30
        .cfi_restore x29
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   heaptap_guarded_call, . - heaptap_guarded_call
#include "common/arch/aarch64/notes.inc"
