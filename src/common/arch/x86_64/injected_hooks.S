// Stubs of the injected agent's hooks, and its entry for a stopped thread. A patched function comes here as if it had just been called.
// All registers but the result are what the function itself leaves in them: callers inside of a C library may count on that. The frame
// pointer's chain stays whole.
//
// 152: InjectedAgent::originals (common/wire/injected_agent.h).
//
//   [rbp + 8] return address   [rbp] caller's rbp   -8 -16 -24 arguments   -32 result   -40 anchor

  .macro HOOK number
  .balign 16
  .hidden heaptap_injected_hook_\number
  .globl heaptap_injected_hook_\number
  .type heaptap_injected_hook_\number, @function
heaptap_injected_hook_\number:
  push %rbp
  mov %rsp, %rbp
  sub $48, %rsp
  mov %rdi, -8(%rbp)
  mov %rsi, -16(%rbp)
  mov %rdx, -24(%rbp)
  push %rcx
  push %r8
  push %r9
  push %r10
  push %r11
  push %rax
  lea 8(%rbp), %rdi
  lea -24(%rbp), %rsi
  mov $\number, %edx
  call heaptap_injected_before
  mov %rax, -40(%rbp)
  pop %rax
  pop %r11
  pop %r10
  pop %r9
  pop %r8
  pop %rcx
  mov -8(%rbp), %rdi
  mov -16(%rbp), %rsi
  mov -24(%rbp), %rdx
  cmpq $0, -40(%rbp)
  jne 1f
  leave
  jmp *heaptap_injected_contract+152+8*\number(%rip)
1:
  call *heaptap_injected_contract+152+8*\number(%rip)
  mov %rax, -32(%rbp)
  push %rcx
  push %rdi
  push %rsi
  push %rdx
  push %r8
  push %r9
  push %r10
  push %r11
  lea 8(%rbp), %rdi
  lea -24(%rbp), %rsi
  mov $\number, %edx
  mov %rax, %rcx
  mov -40(%rbp), %r8
  call heaptap_injected_after
  pop %r11
  pop %r10
  pop %r9
  pop %r8
  pop %rdx
  pop %rsi
  pop %rdi
  pop %rcx
  mov -32(%rbp), %rax
  leave
  ret
  .size heaptap_injected_hook_\number, .-heaptap_injected_hook_\number
  .endm

  .text
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
  HOOK \number
  .endr

// For a stopped thread, on the agent's stack: the result is in rax when it meets the breakpoint.
  .balign 16
  .hidden heaptap_injected_enter
  .globl heaptap_injected_enter
  .type heaptap_injected_enter, @function
heaptap_injected_enter:
  cld
  call heaptap_injected_begin
  int3
  .size heaptap_injected_enter, .-heaptap_injected_enter

  .section .note.GNU-stack,"",@progbits
