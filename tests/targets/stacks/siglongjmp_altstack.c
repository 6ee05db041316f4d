// Handlers on an alternate stack allocate and jump out; the stacks of later calls are right all the same.
// EXPECT stack function=malloc caller=jump_out allocations=1000 frees=1000 allocated_bytes=16000
// EXPECT stack function=malloc path=after_jump<main allocations=1000 frees=1000
#include "target.h"

#include <setjmp.h>
#include <signal.h>
static sigjmp_buf target;
static void* volatile block;
static char area[65536];
NOINLINE void jump_out(int number) {
  (void)number;
  block = malloc(16);
  siglongjmp(target, 1);
}
NOINLINE void after_jump(void) { free(keep(malloc(8))); }
int main(void) {
  stack_t stack = {.ss_sp = area, .ss_size = sizeof area};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = jump_out, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  for (volatile int i = 0; i < 1000; i++) {
    if (sigsetjmp(target, 1) == 0) raise(SIGUSR1);
    free(block);
    after_jump();
  }
  say("done\n");
  return 0;
}
