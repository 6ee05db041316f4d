// heaptap_clone_call(flags, stack_top, function, argument): clone(2) whose child calls function(argument) on a stack of
// its own, and exits with status 0 if that returns. Returns the kernel's result in the parent. The child has no libc
// state: no thread-local memory of its own, no handlers run for it, no lock is known to it.
        .text
        .globl  heaptap_clone_call
        .hidden heaptap_clone_call
        .type   heaptap_clone_call, @function
heaptap_clone_call:
        .cfi_startproc
        andq    $-16, %rsi
        subq    $16, %rsi
        movq    %rdx, (%rsi)
        movq    %rcx, 8(%rsi)
        xorl    %edx, %edx
        xorl    %r10d, %r10d
        xorl    %r8d, %r8d
        movl    $56, %eax               // clone
        syscall
        testq   %rax, %rax
        jz      1f
        ret
        .cfi_endproc
1:      .cfi_startproc
        .cfi_undefined rip
        xorl    %ebp, %ebp
        popq    %rax
        popq    %rdi
        call    *%rax
        xorl    %edi, %edi
        movl    $60, %eax               // exit
        syscall
        hlt
        .cfi_endproc
        .size   heaptap_clone_call, . - heaptap_clone_call
        .section .note.GNU-stack, "", @progbits
