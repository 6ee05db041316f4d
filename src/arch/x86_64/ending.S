// Entries of the door that must leave the stack and the registers as they are: each asks heaptap_… where to go on, and
// jumps there. No frame of the agent's is left on the stack. The argument of heaptap_…: the six argument registers in order,
// then rax; it may change them; then the six registers that calls preserve. And the return from the agent's own signal handlers.

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

        .text
        pass_through __libc_start_main, heaptap_choose_start
        pass_through exit, heaptap_choose_exit
        pass_through quick_exit, heaptap_choose_quick_exit
        pass_through _exit, heaptap_choose_direct_exit
        pass_through _Exit, heaptap_choose_direct_exit
        pass_through makecontext, heaptap_choose_makecontext
        pass_through syscall, heaptap_choose_syscall
        pass_through unshare, heaptap_choose_unshare
        pass_through setns, heaptap_choose_setns
        pass_through clone, heaptap_choose_clone
        pass_through dlopen, heaptap_choose_dlopen
        pass_through dlmopen, heaptap_choose_dlmopen

// In place of main: notes where main's frame begins and what it returns to, and becomes main.
        .globl  heaptap_enter_main
        .hidden heaptap_enter_main
        .type   heaptap_enter_main, @function
heaptap_enter_main:
        .cfi_startproc
        endbr64
        movq    (%rsp), %rax
        movq    %rax, heaptap_main_return(%rip)
        movq    %rsp, heaptap_main_slot(%rip)
        jmp     *heaptap_main(%rip)
        .cfi_endproc
        .size   heaptap_enter_main, . - heaptap_enter_main

        .macro at_sp register, low, high=-1
        .if     \high < 0
        .cfi_escape 0x10, \register, 2, 0x77, \low
        .else
        .cfi_escape 0x10, \register, 3, 0x77, \low, \high
        .endif
        .endm

// As libc's __restore_rt: SP is at the ucontext, which has the registers (DW_OP_breg7, offset as SLEB128).
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06
        at_sp   8, 0x28
        at_sp   9, 0x30
        at_sp   10, 0x38
        at_sp   11, 0xc0, 0x00
        at_sp   12, 0xc8, 0x00
        at_sp   13, 0xd0, 0x00
        at_sp   14, 0xd8, 0x00
        at_sp   15, 0xe0, 0x00
        at_sp   5, 0xe8, 0x00
        at_sp   4, 0xf0, 0x00
        at_sp   6, 0xf8, 0x00
        at_sp   3, 0x80, 0x01
        at_sp   1, 0x88, 0x01
        at_sp   0, 0x90, 0x01
        at_sp   2, 0x98, 0x01
        at_sp   7, 0xa0, 0x01
        at_sp   16, 0xa8, 0x01
        nop     // unwinders look one byte before a return address
        .globl  heaptap_signal_return
        .hidden heaptap_signal_return
        .type   heaptap_signal_return, @function
heaptap_signal_return:
        movq    $15, %rax       // rt_sigreturn
        syscall
        .cfi_endproc
        .size   heaptap_signal_return, . - heaptap_signal_return

        .section .note.GNU-stack, "", @progbits
