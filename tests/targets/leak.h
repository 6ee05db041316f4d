// Common part of the programs with leaks. The losses stand at the lines that allocate:
// tests/support/leak_expectations.py says how.
#pragma once
#include "target.h"

#include <sched.h>

// Is the word among the program's arguments?
__attribute__((unused)) static int said(char** arguments, const char* word) {
  while (*++arguments)
    if (!strcmp(*arguments, word)) return 1;
  return 0;
}

// Leaves no pointer by chance in a register that calls don't preserve. The stack is left as it is.
NOINLINE static void forget_registers(void) {
#ifdef __x86_64__
  __asm__ volatile(
      "xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\txor %%edi, %%edi\n\t"
      "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d\n\t"
      "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\tpxor %%xmm3, %%xmm3\n\t"
      "pxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\tpxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\t"
      "pxor %%xmm8, %%xmm8\n\tpxor %%xmm9, %%xmm9\n\tpxor %%xmm10, %%xmm10\n\tpxor %%xmm11, %%xmm11\n\t"
      "pxor %%xmm12, %%xmm12\n\tpxor %%xmm13, %%xmm13\n\tpxor %%xmm14, %%xmm14\n\tpxor %%xmm15, %%xmm15"
      :
      :
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
        "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined __i386__
  __asm__ volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx" : : : "eax", "ecx", "edx");
#endif
}

// Calls the function some 8 KiB further down, so that what it leaves on the dead stack doesn't come to lie in the gaps of
// frames that live later, nor does a register that such a frame keeps. An array whose address nobody has seen, volatile or
// not, compilers make as small as what is used of it.
NOINLINE static void far_below(void (*function)(void)) {
  char room[8192];
  keep(room);
  function();
  keep(room);
  forget_registers();
}

// A thread says that it has come to where it waits.
static volatile int leak_ready;
__attribute__((unused)) static void set_ready(void) { __atomic_add_fetch(&leak_ready, 1, __ATOMIC_SEQ_CST); }
__attribute__((unused)) static void await_ready(int threads) {
  while (__atomic_load_n(&leak_ready, __ATOMIC_SEQ_CST) < threads) sched_yield();
}
__attribute__((unused)) static void wait_for_ever(void) {
  for (;;) pause();
}

// Opens a library beside the program.
#define OPEN_BESIDE(library, name)                                   \
  do {                                                               \
    char path[4096] = "";                                            \
    REQUIRE(readlink("/proc/self/exe", path, sizeof path - 64) > 0); \
    strcpy(strrchr(path, '/') + 1, name);                            \
    (library) = dlopen(path, RTLD_NOW);                              \
    REQUIRE(library);                                                \
  } while (0)
