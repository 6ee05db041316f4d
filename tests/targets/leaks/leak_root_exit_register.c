// The program ends in a function that has the only pointer to a block in a register.
// NEEDS x86_64
// RUN exit held
// RUN exit dropped
// RUN quick_exit held
// RUN quick_exit dropped
// RUN _exit held
// RUN _exit dropped
// RUN syscall held
// RUN syscall dropped
#define _GNU_SOURCE
#include "leak.h"

#include <sys/syscall.h>
static void* volatile box;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
// The register is one that calls preserve.
#define END_HOLDING(register, function, first) \
  __asm__ volatile("movq %[box], %%" register "\n\tmovq $0, %[box]\n\tmovl %[one], %%edi\n\t" \
                                              "xorl %%esi, %%esi\n\tcall " function "@PLT"    \
                   : [box] "+m"(box)                                                          \
                   : [one] "i"(first)                                                         \
                   : register, "rdi", "rsi", "memory")
int main(int count, char** arguments) {
  far_below(fill_box);
  if (said(arguments, "dropped")) box = NULL;
  forget_registers();
  if (said(arguments, "exit")) END_HOLDING("rbx", "exit", 0);
  if (said(arguments, "quick_exit")) END_HOLDING("r12", "quick_exit", 0);
  if (said(arguments, "_exit")) END_HOLDING("r15", "_exit", 0);
  END_HOLDING("r13", "syscall", SYS_exit_group);
  return 1;
}
