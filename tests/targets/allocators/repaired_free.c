// The first instruction of the program's own free writes where it can't, a handler repairs that, and it goes on: each
// block is released once.
// OPTIONS --via ptrace
// NEEDS x86_64
// EXPECT exit 0
// EXPECT stack function=malloc caller=allocate allocations=10 frees=10 live_blocks=0
// EXPECT totals.double_frees == 0
// EXPECT totals.bad_frees == 0
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/mman.h>
static char area[1 << 16];
static size_t used;
static char* wall;  // below it the stack can't be written
static volatile int repairs;
NOINLINE void* malloc(size_t size) {
  used = (used + 15) & ~(size_t)15;
  if (size > sizeof area - used) return NULL;
  used += size;
  return area + used - size;
}
void* calloc(size_t count, size_t size) { return malloc(count * size); }
void* realloc(void* block, size_t size) {
  void* other = malloc(size);
  if (block && other) memmove(other, block, size);
  return other;
}
#if defined(__x86_64__)
__asm__(".text\n.globl free\n.type free, @function\nfree:\n push %rbx\n pop %rbx\n ret\n.size free, .-free\n");
static void free_at_the_wall(void* block) {
  __asm__ volatile("mov %%rsp, %%rbx\n mov %1, %%rsp\n call free\n mov %%rbx, %%rsp\n"
                   : "+D"(block)
                   : "r"(wall + 8)
                   : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
}
#else
__asm__(".text\n.globl free\n.type free, @function\nfree:\n push %ebx\n pop %ebx\n ret\n.size free, .-free\n");
static void free_at_the_wall(void* block) {
  __asm__ volatile("mov %%esp, %%esi\n mov %1, %%esp\n push %0\n call free\n mov %%esi, %%esp\n"
                   :
                   : "D"(block), "r"(wall + 8)
                   : "esi", "eax", "ecx", "edx", "cc", "memory");
}
#endif
static void repair(int number) {
  (void)number;
  repairs = repairs + 1;
  mprotect(wall - PAGE, PAGE, PROT_READ | PROT_WRITE);
}
NOINLINE void* allocate(void) { return keep(malloc(100)); }
int main(void) {
  static char alternate[65536];
  stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  struct sigaction action = {.sa_handler = repair, .sa_flags = SA_ONSTACK};
  sigaltstack(&stack, NULL);
  sigaction(SIGSEGV, &action, NULL);
  char* pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  wall = pages + PAGE;
  for (int i = 0; i < 10; i++) {
    void* block = allocate();
    mprotect(pages, PAGE, PROT_NONE);
    free_at_the_wall(block);
  }
  say("%d repairs\n", repairs);
  return 0;
}
