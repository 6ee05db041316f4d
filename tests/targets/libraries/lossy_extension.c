// A library that a Python program loads (tests/support/extension_program.py): loses ten blocks. They are as large
// as those that have a mapping each: what the interpreter has freed before may have stale pointers to others, which count after an attach.
#include "leak.h"

#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void lose_in_extension(void) {
  void* volatile block = malloc(150000);
  block = NULL;
}

// No copy of a pointer stays on the stack.
__attribute__((noinline)) static void clear_stack(void) {
  volatile char bytes[16384];
  memset((char*)bytes, 0, sizeof(bytes));
}

__attribute__((noinline)) void run_extension(void) {
  for (int i = 0; i < 10; i++) lose_in_extension();
  clear_stack();
  forget_registers();
}
