@ heaptap_guarded_call(function, a, b, c): calls function(a, b, c). Reports an exception that passes through this frame
@ to heaptap_guard_passed, through the frame's personality routine; nothing is caught. Where no library has what such a routine needs,
@ the call goes by without a guard.
        .syntax unified
        .arch   armv7-a
        .arm
        .text
        .globl  heaptap_guarded_call
        .hidden heaptap_guarded_call
        .type   heaptap_guarded_call, %function
heaptap_guarded_call:
        .fnstart
        mov     r12, r0
        mov     r0, r1
        mov     r1, r2
        mov     r2, r3
        ldr     r3, 1f
0:      add     r3, pc, r3
        ldr     r3, [r3]
        cmp     r3, #0
        bxeq    r12
        b       guarded
        .fnend
guarded:
        .fnstart
        push    {r4, lr}
        .save   {r4, lr}
        blx     r12
        pop     {r4, pc}
        .personality heaptap_arm_personality
        .handlerdata
        .text
        .fnend
1:      .word   2f - 0b - 8
        .size   heaptap_guarded_call, . - heaptap_guarded_call

@ heaptap_arm_personality(state, exception, context): unwinds the frame as the generic routines do. Source: Exception Handling ABI for
@ the Arm Architecture, 7.2 (personality routines); __gnu_unwind_frame is GCC's and LLVM's.
        .type   heaptap_arm_personality, %function
heaptap_arm_personality:
        .fnstart
        push    {r0, r1, r2, lr}
        .save   {lr}
        .pad    #12
        and     r0, r0, #3
        cmp     r0, #1                  @ _US_UNWIND_FRAME_STARTING
        bleq    heaptap_guard_passed
        pop     {r0, r1, r2}
        mov     r0, r1
        mov     r1, r2
        ldr     r3, 4f
3:      add     r3, pc, r3
        ldr     r3, [r3]
        blx     r3
        cmp     r0, #0
        moveq   r0, #8                  @ _URC_CONTINUE_UNWIND
        movne   r0, #9                  @ _URC_FAILURE
        pop     {pc}
        .fnend
4:      .word   2f - 3b - 8
        .size   heaptap_arm_personality, . - heaptap_arm_personality

@ A division by zero, which there is none of: the compiler's library would raise a signal.
        .globl  __aeabi_idiv0
        .hidden __aeabi_idiv0
        .globl  __aeabi_ldiv0
        .hidden __aeabi_ldiv0
__aeabi_idiv0:
__aeabi_ldiv0:
        udf     #0

@ The generic personality routines: the linker wants to see them, and the unwinder takes its own.
        .globl  __aeabi_unwind_cpp_pr0
        .hidden __aeabi_unwind_cpp_pr0
        .globl  __aeabi_unwind_cpp_pr1
        .hidden __aeabi_unwind_cpp_pr1
__aeabi_unwind_cpp_pr0:
__aeabi_unwind_cpp_pr1:
        udf     #0

        .weak   __gnu_unwind_frame
        .section .data.rel.ro, "aw", %progbits
        .balign 4
2:      .word   __gnu_unwind_frame
#include "common/arch/arm/notes.inc"
