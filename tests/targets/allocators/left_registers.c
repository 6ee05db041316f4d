// What hooks leave in the registers that arguments come in: no block's address. The loader's resolver, which is often what comes next, saves
// these registers on the stack, where a leak scan would take the address for a pointer to the block. Each stack comes twice: as a new one, and
// as a known one. Without the agent nothing is compared: allocators themselves may leave such words.
// LINK -ldl
// EXPECT stack function=malloc caller=call allocations=64 frees=64
// EXPECT stack function=calloc caller=call allocations=64
// EXPECT stack function=realloc caller=call allocations=64
// EXPECT stack function=aligned_alloc caller=call allocations=64
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>

enum { STACKS = 32, ARGUMENTS = 9, BYTES = 65536 };  // of blocks so large that each one is in a sample, too

// The result of a call, and what was in the other registers after it.
struct left {
  uintptr_t block;
  uintptr_t word[ARGUMENTS];
};

NOINLINE void call(void* function, uintptr_t a, uintptr_t b, struct left* left) {
#if defined(__x86_64__)
  register void* target __asm__("r12") = function;
  register struct left* to __asm__("r13") = left;
  // The red zone isn't the call's.
  __asm__ volatile(
      "lea -256(%%rsp), %%rsp\n\tcall *%[target]\n\tlea 256(%%rsp), %%rsp\n\t"
      "mov %%rax, 0(%[to])\n\tmov %%rdi, 8(%[to])\n\tmov %%rsi, 16(%[to])\n\tmov %%rdx, 24(%[to])\n\t"
      "mov %%rcx, 32(%[to])\n\tmov %%r8, 40(%[to])\n\tmov %%r9, 48(%[to])"
      : "+D"(a), "+S"(b)
      : [target] "r"(target), [to] "r"(to)
      : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
#elif defined(__aarch64__)
  register uintptr_t first __asm__("x0") = a;
  register uintptr_t second __asm__("x1") = b;
  register void* target __asm__("x19") = function;
  register struct left* to __asm__("x20") = left;
  __asm__ volatile(
      "blr %[target]\n\t"
      "stp x0, x1, [%[to]]\n\tstp x2, x3, [%[to], #16]\n\tstp x4, x5, [%[to], #32]\n\tstp x6, x7, [%[to], #48]\n\t"
      "stp x8, x9, [%[to], #64]"
      : "+r"(first), "+r"(second)
      : [target] "r"(target), [to] "r"(to)
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x30",
        "memory", "cc");
#else
  left->block = (uintptr_t)((void* (*)(uintptr_t, uintptr_t))function)(a, b);
#endif
}

// The same from a stack that is deeper by `depth` frames.
NOINLINE void call_below(int depth, void* function, uintptr_t a, uintptr_t b, struct left* left) {
  if (depth == 0) {
    call(function, a, b, left);
  } else {
    call_below(depth - 1, function, a, b, left);
  }
  keep(left);
}

static int has_hooks(void) {
  Dl_info of_malloc;
  return dladdr((void*)malloc, &of_malloc) != 0 && strstr(of_malloc.dli_fname, "libheaptap_agent") != NULL;
}

int main(void) {
  static const struct {
    const char* name;
    void* function;
    uintptr_t a, b;
  } functions[] = {{"malloc", (void*)malloc, BYTES, 0},
                   {"calloc", (void*)calloc, 16, BYTES / 16},
                   {"realloc", (void*)realloc, 0, BYTES},
                   {"aligned_alloc", (void*)aligned_alloc, 64, BYTES}};
  const int compares = has_hooks();
  for (size_t which = 0; which < sizeof functions / sizeof *functions; which++) {
    for (int round = 0; round < 2 * STACKS; round++) {
      struct left left;
      memset(&left, 0, sizeof left);
      call_below(round / 2, functions[which].function, functions[which].a, functions[which].b, &left);
      for (int number = 0; compares && number < ARGUMENTS; number++) {
        const uintptr_t address = left.word[number] & (((uintptr_t)1 << 24 << 24) - 1);  // without a tag
        if (address - left.block >= BYTES) continue;
        say("%s, call %d: register %d behind the result has %#lx, block %#lx\n", functions[which].name, round,
            number + 1, (unsigned long)left.word[number], (unsigned long)left.block);
        return 1;
      }
      free((void*)left.block);
    }
  }
  return 0;
}
