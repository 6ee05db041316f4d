// A function of the C library is called with the last word of a stack: what it pushes next hits the guard page. The program
// learns of it, and nothing is in the guard page. Later calls of that function are seen as before.
// NEEDS x86_64
// EXPECT exit 7
// EXPECT stack function=malloc caller=main allocations=1 allocated_bytes=64
// EXPECT stack function=malloc caller=on_overflow allocations=1 allocated_bytes=32
#include "target.h"

#include <signal.h>
#include <sys/mman.h>
enum { kPage = 4096 };
static char area[65536];
static char* guard;
void on_overflow(int number, siginfo_t* cause, void* context) {
  (void)number;
  (void)context;
  const char* at = cause->si_addr;
  say(at >= guard && at < guard + kPage ? "stack overflow noticed\n" : "another fault\n");
  mprotect(guard, kPage, PROT_READ);
  for (const char* byte = guard; byte < guard + kPage; ++byte) {
    if (*byte != 0) _exit(8);
  }
  keep(malloc(32));
  _exit(7);
}
NOINLINE void call_at(void* (*function)(size_t), char* stack) {
  __asm__ volatile("mov %%rsp, %%rbx\n\tmov %%rsp, %%r12\n\tmov %1, %%rsp\n\tcall *%0\n\tmov %%rbx, %%rsp"
                   :
                   : "r"(function), "r"(stack), "D"(64)
                   : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "memory");
}
int main(void) {
  keep(malloc(64));
  guard = mmap(NULL, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(guard, kPage, PROT_NONE);
  stack_t stack = {.ss_sp = area, .ss_size = sizeof area};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_sigaction = on_overflow, .sa_flags = SA_ONSTACK | SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  call_at(malloc, guard + kPage + sizeof(void*));
  say("no overflow\n");
  return 0;
}
