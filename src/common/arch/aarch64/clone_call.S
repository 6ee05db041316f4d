// heaptap_clone_call(flags, stack_top, function, argument): clone(2) whose child calls function(argument) on a stack of
// its own, and exits with status 0 if that returns. Returns the kernel's result in the parent. The child has no libc
// state: no thread-local memory of its own, no handlers run for it, no lock is known to it.
        .text
        .globl  heaptap_clone_call
        .hidden heaptap_clone_call
        .type   heaptap_clone_call, %function
heaptap_clone_call:
        .cfi_startproc
        bti     c
        and     x1, x1, #-16
        stp     x2, x3, [x1, #-16]!
        mov     x2, xzr
        mov     x3, xzr
        mov     x4, xzr
        mov     x8, #220                // clone
        svc     #0
        cbz     x0, 1f
        ret
        .cfi_endproc
1:      .cfi_startproc
        .cfi_undefined x30
        mov     x29, xzr
        mov     x30, xzr
        ldp     x9, x0, [sp], #16
        blr     x9
        mov     x0, xzr
        mov     x8, #93                 // exit
        svc     #0
        udf     #0
        .cfi_endproc
        .size   heaptap_clone_call, . - heaptap_clone_call
#include "common/arch/aarch64/notes.inc"
