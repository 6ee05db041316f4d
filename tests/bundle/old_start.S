# The start of a C program as glibc had it before 2.34: linked with a later one, by its own start file, it would need that one.
.symver start_main, __libc_start_main@GLIBC_2.2.5
.globl _start
_start:
 .cfi_startproc
 .cfi_undefined rip
 xor %ebp, %ebp
 mov %rdx, %r9
 pop %rsi
 mov %rsp, %rdx
 and $-16, %rsp
 push %rax
 push %rsp
 xor %r8d, %r8d
 xor %ecx, %ecx
 lea main(%rip), %rdi
 call start_main@PLT
 hlt
 .cfi_endproc
.section .note.GNU-stack, "", @progbits
