// Tail-call entries of the preloaded library, which preserve the stack and the registers: each calls heaptap_…, which
// returns the address to jump to. No frame of the agent stays on the stack. Argument of heaptap_…: the six argument
// registers in order, then rax, all of which it may change; then the six call-preserved registers.

        .macro pass_through name, chooser
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        endbr64
        pushq   %r15
        pushq   %r14
        pushq   %r13
        pushq   %r12
        pushq   %rbp
        pushq   %rbx
        pushq   %rax
        pushq   %r9
        pushq   %r8
        pushq   %rcx
        pushq   %rdx
        pushq   %rsi
        pushq   %rdi
        .cfi_adjust_cfa_offset 104
        movq    %rsp, %rdi
        call    \chooser
        movq    %rax, %r11
        popq    %rdi
        popq    %rsi
        popq    %rdx
        popq    %rcx
        popq    %r8
        popq    %r9
        popq    %rax
        addq    $48, %rsp
        .cfi_adjust_cfa_offset -104
        jmp     *%r11
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
        endbr64
        movq    (%rsp), %rax
        movq    %rax, heaptap_main_return(%rip)
        movq    %rsp, heaptap_main_slot(%rip)
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        .cfi_adjust_cfa_offset 24
        call    heaptap_before_main
        popq    %rdx
        popq    %rsi
        popq    %rdi
        .cfi_adjust_cfa_offset -24
        jmp     *heaptap_main(%rip)
        .cfi_endproc
        .size   heaptap_enter_main, . - heaptap_enter_main

        .section .note.GNU-stack, "", @progbits
