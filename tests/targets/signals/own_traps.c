// A program with its own breakpoint instructions and its own use of SIGTRAP: its handler gets these, and nothing else.
// NEEDS x86_64
// EXPECT exit 0
// EXPECT stack function=malloc caller=work allocations=300 frees=300
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
static volatile int of_instruction, of_raise, of_queue, others;
extern const char behind_trap[];
static void handler(int number, siginfo_t* reason, void* context) {
  const ucontext_t* place = context;
  if (reason->si_code == SI_KERNEL && place->uc_mcontext.gregs[REG_RIP] == (greg_t)behind_trap) {
    of_instruction++;
  } else if (reason->si_code == SI_TKILL) {
    of_raise++;
  } else if (reason->si_code == SI_QUEUE && reason->si_value.sival_int == 4711) {
    of_queue++;
  } else {
    others++;
  }
  free(keep(malloc(8)));
}
NOINLINE static void trap(void) { __asm__ volatile("int3\n.globl behind_trap\nbehind_trap:" ::: "memory"); }
NOINLINE void work(void) { free(keep(malloc(100))); }
int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
  REQUIRE(sigaction(SIGTRAP, &action, NULL) == 0);
  for (int i = 0; i < 100; i++) {
    work();
    trap();
    work();
    raise(SIGTRAP);
    work();
    REQUIRE(sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 4711}) == 0);
  }
  say("%d %d %d %d\n", of_instruction, of_raise, of_queue, others);
  return 0;
}
