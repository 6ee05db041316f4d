// heaptap_clone_call(flags, stack_top, function, argument): clone(2) whose child calls function(argument) on a stack of
// its own, and exits with status 0 if that returns. Returns the kernel's result in the parent. The child has no libc
// state: no thread-local memory of its own, no handlers run for it, no lock is known to it.
        .text
        .globl  heaptap_clone_call
        .hidden heaptap_clone_call
        .type   heaptap_clone_call, @function
heaptap_clone_call:
        .cfi_startproc
        rlwinm  4, 4, 0, 0, 27
        addi    4, 4, -32
        li      0, 0
        stw     0, 0(4)               // the end of the back chain
        stw     5, 8(4)
        stw     6, 12(4)
        li      5, 0
        li      6, 0
        li      7, 0
        li      0, 120                // clone
        sc
        bns+    0f
        neg     3, 3
        blr
0:      cmpwi   3, 0
        beq     1f
        blr
        .cfi_endproc
1:      .cfi_startproc
        .cfi_undefined 65
        li      31, 0
        lwz     12, 8(1)
        lwz     3, 12(1)
        mtctr   12
        bctrl
        li      3, 0
        li      0, 1                  // exit
        sc
        trap
        .cfi_endproc
        .size   heaptap_clone_call, . - heaptap_clone_call
#include "common/arch/powerpc/notes.inc"
