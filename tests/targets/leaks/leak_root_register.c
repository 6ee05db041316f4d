// A block that only a register holds, of a thread that waits in the kernel: general ones, and parts of vectors.
// NEEDS x86_64
// LINK -pthread
// RUN rbx held
// RUN rbx dropped
// RUN r12 held
// RUN r12 dropped
// RUN xmm8 held
// RUN xmm8 dropped
// RUN xmm9_high held
// RUN ymm10_high held
// RUN ymm10_high dropped
#include "leak.h"

#include <pthread.h>
static void* volatile box;
static char** words;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
// Takes what is in the box into a register, and waits in pause.
#define HOLD_IN(register, then)                                                          \
  __asm__ volatile("movq %[box], %%" register "\n\tmovq $0, %[box]\n\t" then             \
                                              "\n\tmovl $1, %[ready]\n"                  \
                                              "1:\tmovl $34, %%eax\n\tsyscall\n\tjmp 1b" \
                   : [box] "+m"(box), [ready] "=m"(leak_ready)                           \
                   :                                                                     \
                   : register, "rax", "rcx", "r11", "memory")
static void* thread(void* unused) {
  if (said(words, "dropped")) box = NULL;
  if (said(words, "rbx")) HOLD_IN("rbx", "");
  if (said(words, "r12")) HOLD_IN("r12", "");
  if (said(words, "xmm9_high")) HOLD_IN("xmm9", "pslldq $8, %%xmm9");
  if (said(words, "ymm10_high") && __builtin_cpu_supports("avx"))
    HOLD_IN("xmm10", "vinsertf128 $1, %%xmm10, %%ymm10, %%ymm10\n\tpxor %%xmm10, %%xmm10");
  HOLD_IN("xmm8", "");
  return unused;
}
int main(int count, char** arguments) {
  pthread_t id;
  words = arguments;
  far_below(fill_box);
  REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
  await_ready(1);
  forget_registers();
  return 0;
}
