// Timer signals meet allocation functions everywhere, whatever instruction these begin with and end with: pushes, moves, landing
// pads, jumps to watched and to other functions. The handler allocates, too. Of the program's own allocator only a tracer sees
// the calls.
// NEEDS x86_64
// OPTIONS --via ptrace
// RUN 300
// RUN-LONG 10000
// EXPECT exit 0
// EXPECT totals.bad_frees == 0
// EXPECT totals.double_frees == 0
// EXPECT capture.lost_events == 0
// EXPECT stack function=malloc caller=round_of_calls live_blocks=0
// EXPECT stack function=calloc caller=round_of_calls live_blocks=0
// EXPECT stack function=memalign caller=round_of_calls live_blocks=0
// EXPECT stack function=valloc caller=round_of_calls live_blocks=0
// EXPECT stack function=aligned_alloc caller=round_of_calls live_blocks=0
// EXPECT stack function=pvalloc caller=round_of_calls live_blocks=0
// EXPECT stack caller=on_tick allocations>=1000 live_blocks=0
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

enum { kBlocks = 65536, kBytes = 64 };
static char area[kBlocks][kBytes] __attribute__((aligned(64)));
static atomic_uint next_block;
static volatile unsigned ticks, wanted;

// What all of them end in. A block isn't used again before all others were.
__attribute__((used)) void* take(size_t size) {
  if (size > kBytes) return NULL;
  return area[atomic_fetch_add(&next_block, 1) % kBlocks];
}
__attribute__((used)) void* clear(void* block) {
  for (volatile char* byte = block; byte < (char*)block + kBytes; byte++) *byte = 0;
  return block;
}
__attribute__((used)) void leave(void* block) { *(volatile char*)block = 1; }
__attribute__((used)) void* (*take_at)(size_t) = take;
__attribute__((used)) void* (*clear_at)(void*) = clear;

#define FUNCTION(name, code)                                                                                  \
  __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" #name ":\n.cfi_startproc\n" code \
          "\n.cfi_endproc\n.size " #name ", .-" #name)

FUNCTION(malloc,
         "push %r12\n.cfi_def_cfa_offset 16\n mov %rdi, %r12\n call take\n pop %r12\n.cfi_def_cfa_offset 8\n ret");
FUNCTION(calloc,
         "endbr64\n sub $8, %rsp\n.cfi_def_cfa_offset 16\n imul %rsi, %rdi\n call take\n mov %rax, %rdi\n"
         "add $8, %rsp\n.cfi_def_cfa_offset 8\n jmp *clear_at(%rip)");
FUNCTION(
    memalign,
    "sub $24, %rsp\n.cfi_def_cfa_offset 32\n mov %rsi, %rdi\n call take\n add $24, %rsp\n.cfi_def_cfa_offset 8\n ret");
FUNCTION(valloc, "mov %rdi, %rax\n jmp *take_at(%rip)");
FUNCTION(aligned_alloc, "jmp 1f\n 1: xchg %rdi, %rsi\n jmp *take_at(%rip)");
FUNCTION(pvalloc, "jmp *take_at(%rip)");
FUNCTION(free, "push %rbp\n.cfi_def_cfa_offset 16\n mov %rsp, %rbp\n call leave\n leave\n.cfi_def_cfa_offset 8\n ret");
FUNCTION(realloc, "xor %eax, %eax\n ret");

void* valloc(size_t);
void* pvalloc(size_t);
void* memalign(size_t, size_t);
void* aligned_alloc(size_t, size_t);

NOINLINE void on_tick(int number) {
  (void)number;
  void* blocks[] = {malloc(8), calloc(1, 8), valloc(8), pvalloc(8)};
  for (int i = 0; i < 4; i++) free(blocks[i]);
  ticks = ticks + 1;
  // What is traced may take longer than a tick: the next one is to find the program at work.
  struct itimerval once = {{0, 0}, {0, 100}};
  if (ticks < wanted) setitimer(ITIMER_REAL, &once, NULL);
}
// A caller that moves the result into a vector register: nothing that could be done on its behalf.
NOINLINE long round_of_calls(void) {
  void* vector = NULL;
  __asm__ volatile("mov $8, %%edi\n call pvalloc\n movq %%rax, %%xmm7\n movq %%xmm7, %0"
                   : "=r"(vector)
                   :
                   : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm7", "memory", "cc");
  void* blocks[] = {vector, malloc(8), calloc(2, 4), memalign(16, 8), valloc(8), aligned_alloc(16, 8), pvalloc(8)};
  long sum = 0;
  for (int i = 0; i < 7; i++) sum += *(char*)blocks[i] >= 0;
  for (int i = 0; i < 7; i++) free(blocks[i]);
  return sum;
}
int main(int count, char** arguments) {
  wanted = count > 1 ? (unsigned)atoi(arguments[1]) : 300;
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval once = {{0, 0}, {0, 100}};
  setitimer(ITIMER_REAL, &once, NULL);
  long sum = 0;
  for (int i = 0; i < 100 || ticks < wanted; i++) sum = round_of_calls();
  say("%ld of 7 blocks, ticks as wanted\n", sum);
  return 0;
}
