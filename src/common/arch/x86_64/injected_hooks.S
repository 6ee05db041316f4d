// Hooks of the injected agent, one for each function of its table, and its entry for a stopped thread. A patched function comes here as if
// it had just been called. All registers but the result are what the function itself leaves in them: callers inside of a C library may count
// on that. The frame pointer's chain stays whole.
//
// HookFrame (agent/inject/hooks.cc), upwards from rsp:
//
//   -96 target   -88 hook   -80 thread   -72 result, inverted   -64 -56 kept by the hook   -48 -40 -32 -24 -16 -8 arguments, the sixth one first
//   [rbp] caller's rbp   [rbp + 8] return address
//
// 160: kMaxInjectedFunctions, 32: kHookBytes.

  .text
  .balign 32
  .hidden heaptap_injected_hooks
  .globl heaptap_injected_hooks
  .type heaptap_injected_hooks, @function
heaptap_injected_hooks:
  .set number, 0
  .rept 160
  .balign 32
  push %rbp
  mov %rsp, %rbp
  sub $96, %rsp
  movq $number, -88(%rbp)
  jmp common
  .set number, number + 1
  .endr
  .size heaptap_injected_hooks, .-heaptap_injected_hooks

  .macro load_arguments
  mov -8(%rbp), %rdi
  mov -16(%rbp), %rsi
  mov -24(%rbp), %rdx
  mov -32(%rbp), %rcx
  mov -40(%rbp), %r8
  mov -48(%rbp), %r9
  .endm

  .balign 32
  .type common, @function
common:
  mov %rdi, -8(%rbp)
  mov %rsi, -16(%rbp)
  mov %rdx, -24(%rbp)
  mov %rcx, -32(%rbp)
  mov %r8, -40(%rbp)
  mov %r9, -48(%rbp)
  push %rax
  push %r10
  push %r11
  push %r11
  lea -96(%rbp), %rdi
  call heaptap_injected_before
  mov %rax, -80(%rbp)
  pop %r11
  pop %r11
  pop %r10
  pop %rax
  load_arguments
  cmpq $0, -80(%rbp)
  jne 1f
0:
  movq $0, -8(%rbp)
  leave
  jmp *-104(%rsp)  // the target, in the red zone
1:
  call *-96(%rbp)
  not %rax  // what stays on the stack would be a pointer to the block for a leak scan
  mov %rax, -72(%rbp)
  push %rcx
  push %rdi
  push %rsi
  push %rdx
  push %r8
  push %r9
  push %r10
  push %r11
  lea -96(%rbp), %rdi
  call heaptap_injected_after
  test %eax, %eax
  pop %r11
  pop %r10
  pop %r9
  pop %r8
  pop %rdx
  pop %rsi
  pop %rdi
  pop %rcx
  mov -72(%rbp), %rax
  jne 2f
  not %rax
  movq $0, -8(%rbp)
  .irp place, 104, 112, 120, 128, 136, 144, 152, 160  // what the allocator left in registers
  movq $0, -\place(%rbp)
  .endr
  leave
  ret
2:  // it has failed, or ends the process: the function itself
  load_arguments
  jmp 0b
  .size common, .-common

// Called by the above, in the place of a function that the hook has called: what that returned.
  .balign 16
  .hidden heaptap_injected_result
  .globl heaptap_injected_result
  .type heaptap_injected_result, @function
heaptap_injected_result:
  mov -64(%rbp), %rax
  ret
  .size heaptap_injected_result, .-heaptap_injected_result

// Called likewise, before a function that ends the process.
  .balign 16
  .hidden heaptap_injected_exit
  .globl heaptap_injected_exit
  .type heaptap_injected_exit, @function
heaptap_injected_exit:
  sub $8, %rsp
  push %r15
  push %r14
  push %r13
  push %r12
  push (%rbp)
  push %rbx
  lea -96(%rbp), %rdi
  mov %rsp, %rsi
  call heaptap_injected_note_exit
  add $56, %rsp
  ret
  .size heaptap_injected_exit, .-heaptap_injected_exit

// For a stopped thread, on the agent's stack. Once its result is there (16: of InjectedAgent) it waits to be stopped again, and used for
// something else, or put back. If nobody comes it goes back by itself: by the signal frame that rbx points into, behind its return address.
  .balign 16
  .hidden heaptap_injected_enter
  .globl heaptap_injected_enter
  .type heaptap_injected_enter, @function
heaptap_injected_enter:
  cld
  call heaptap_injected_obey
  mov %rbx, %rsp
  mov %rax, 16+heaptap_injected_agent(%rip)
  mov $4000000, %ecx  // 50 to 200 ms
0:
  pause
  dec %ecx
  jnz 0b
  mov $15, %eax
  syscall
  .hidden heaptap_injected_enter_end
  .globl heaptap_injected_enter_end
heaptap_injected_enter_end:
  .size heaptap_injected_enter, .-heaptap_injected_enter

  .section .note.GNU-stack,"",@progbits
