@ heaptap_clone_call(flags, stack_top, function, argument): clone(2) whose child calls function(argument) on a stack of
@ its own, and exits with status 0 if that returns. Returns the kernel's result in the parent. The child has no libc
@ state: no thread-local memory of its own, no handlers run for it, no lock is known to it.
        .syntax unified
        .arch   armv7-a
        .arm
        .text
        .globl  heaptap_clone_call
        .hidden heaptap_clone_call
        .type   heaptap_clone_call, %function
heaptap_clone_call:
        .fnstart
        push    {r4, r7}
        .save   {r4, r7}
        bic     r1, r1, #7
        stmdb   r1!, {r2, r3}
        mov     r2, #0
        mov     r3, #0
        mov     r4, #0
        mov     r7, #120                @ clone
        svc     #0
        cmp     r0, #0
        beq     1f
        pop     {r4, r7}
        bx      lr
        .fnend
1:      .fnstart
        .cantunwind
        mov     r11, #0
        mov     lr, #0
        pop     {r1, r2}
        mov     r0, r2
        blx     r1
        mov     r0, #0
        mov     r7, #1                  @ exit
        svc     #0
        udf     #0
        .fnend
        .size   heaptap_clone_call, . - heaptap_clone_call
#include "common/arch/arm/notes.inc"
