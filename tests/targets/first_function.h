// A function for makecontext without arguments whose table says that it is the first one of its stack. It calls `called` again
// and again. x86-64.
#pragma once

#define FIRST_FUNCTION(name, called)     \
  void name(void);                       \
  __asm__(".text\n" #name                \
          ":\n"                          \
          "  .cfi_startproc\n"           \
          "  .cfi_undefined rip\n"       \
          "  sub $8, %rsp\n"             \
          "  .cfi_adjust_cfa_offset 8\n" \
          "1: call " #called             \
          "\n"                           \
          "  jmp 1b\n"                   \
          "  .cfi_endproc\n")
