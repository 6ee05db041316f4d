@ Tail-call entries of the preloaded library, which preserve the stack and the registers: each calls heaptap_…, which
@ returns the address to jump to. No frame of the agent stays on the stack. Argument of heaptap_…: r0 to r3, all of which
@ it may change; then r4 to r11 and lr (arch/arm/main_return.h).
        .syntax unified
        .arch   armv7-a
        .arm

        .macro pass_through name, chooser
        .globl  \name
        .type   \name, %function
\name:
        .fnstart
        sub     sp, sp, #4
        .pad    #4
        push    {r4-r11, lr}
        .save   {r4-r11, lr}
        push    {r0-r3}
        .pad    #16
        mov     r0, sp
        bl      \chooser
        mov     r12, r0
        pop     {r0-r3}
        ldr     lr, [sp, #32]
        add     sp, sp, #40
        bx      r12
        .fnend
        .size   \name, . - \name
        .endm

#include "common/arch/passed_through.inc"

@ In place of main: notes where main's frame begins and what it returns to, registers a handler, and becomes main.
        .globl  heaptap_enter_main
        .hidden heaptap_enter_main
        .type   heaptap_enter_main, %function
heaptap_enter_main:
        .fnstart
        ldr     r12, 1f
0:      add     r12, pc, r12            @ pc: two instructions further on
        str     lr, [r12]
        ldr     r12, 3f
2:      add     r12, pc, r12
        str     sp, [r12]
        push    {r0-r2, lr}
        .save   {lr}
        .pad    #12
        bl      heaptap_before_main
        pop     {r0-r2, lr}
        ldr     r12, 5f
4:      add     r12, pc, r12
        ldr     r12, [r12]
        bx      r12
1:      .word   heaptap_main_return - 0b - 8
3:      .word   heaptap_main_slot - 2b - 8
5:      .word   heaptap_main - 4b - 8
        .fnend
        .size   heaptap_enter_main, . - heaptap_enter_main
#include "common/arch/arm/notes.inc"
