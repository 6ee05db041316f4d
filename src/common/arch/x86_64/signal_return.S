// Restorer of the agent's own signal handlers, marked as a signal frame in its CFI.

        .text
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
