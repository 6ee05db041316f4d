// A fault comes with the stack pointer in the middle of a page that can't be read, and the handler on the alternate stack
// allocates: nothing is read where it was interrupted.
// COMPILE -O1 -fomit-frame-pointer
// NEEDS x86_64
// EXPECT exit 7
// EXPECT stack function=malloc caller=on_fault allocations=1 allocated_bytes=64
#include "target.h"

#include <signal.h>
#include <sys/mman.h>
static char area[65536];
NOINLINE void on_fault(int number) {
  (void)number;
  keep(malloc(64));
  say("fault noticed\n");
  _exit(7);
}
NOINLINE void fault_on(char* stack) { __asm__ volatile("mov %0, %%rsp\n\tmovl $0, (%%rsp)" : : "r"(stack) : "memory"); }
int main(void) {
  char* gone = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(gone != MAP_FAILED);
  stack_t stack = {.ss_sp = area, .ss_size = sizeof area};
  REQUIRE(sigaltstack(&stack, NULL) == 0);
  struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
  REQUIRE(sigaction(SIGSEGV, &action, NULL) == 0);
  fault_on(gone + 2 * PAGE + 1024);
  return 0;
}
