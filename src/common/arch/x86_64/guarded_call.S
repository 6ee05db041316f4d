// heaptap_guarded_call(function, a, b, c): calls function(a, b, c). Reports an exception that passes through this frame
// to heaptap_guard_passed, through the frame's personality routine; nothing is caught.
        .text
        .globl  heaptap_guarded_call
        .hidden heaptap_guarded_call
        .type   heaptap_guarded_call, @function
heaptap_guarded_call:
        .cfi_startproc
        .cfi_personality 0x1b, heaptap_guard_personality
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset 6, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register 6
        movq    %rdi, %rax
        movq    %rsi, %rdi
        movq    %rdx, %rsi
        movq    %rcx, %rdx
        call    *%rax
        popq    %rbp
        .cfi_def_cfa 7, 8
        ret
        .cfi_endproc
        .size   heaptap_guarded_call, . - heaptap_guarded_call
        .section .note.GNU-stack, "", @progbits
