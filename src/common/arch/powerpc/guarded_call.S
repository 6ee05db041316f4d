// heaptap_guarded_call(function, a, b, c): calls function(a, b, c). Reports an exception that passes through this frame
// to heaptap_guard_passed, through the frame's personality routine; nothing is caught.
        .text
        .globl  heaptap_guarded_call
        .hidden heaptap_guarded_call
        .type   heaptap_guarded_call, @function
heaptap_guarded_call:
        .cfi_startproc
        .cfi_personality 0x1b, heaptap_guard_personality
        stwu    1, -16(1)
        .cfi_def_cfa_offset 16
        mflr    0
        stw     0, 20(1)
        .cfi_offset 65, 4
        mtctr   3
        mr      3, 4
        mr      4, 5
        mr      5, 6
        bctrl
        lwz     0, 20(1)
        addi    1, 1, 16
        .cfi_def_cfa_offset 0
        mtlr    0
        .cfi_restore 65
        blr
        .cfi_endproc
        .size   heaptap_guarded_call, . - heaptap_guarded_call
#include "common/arch/powerpc/notes.inc"
