// A handler allocates on an alternate stack of 8 KiB with a guard page below it: what heaptap adds must fit.
// EXPECT stack function=malloc caller=on_small_stack allocations=300 frees=200 allocated_bytes=9600
// EXPECT stack function=calloc caller=on_small_stack allocations=100 frees=100
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/mman.h>
NOINLINE void on_small_stack(int number) {
  (void)number;
  void* block = keep(malloc(32));
  free(keep(malloc(32)));
  free(keep(malloc(32)));
  free(keep(calloc(4, 8)));
  (void)block;
}
NOINLINE void deep(int depth) {
  if (depth > 0) {
    deep(depth - 1);
    keep(&depth);
  } else {
    raise(SIGUSR1);
  }
}
int main(void) {
  char* guarded = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(guarded != MAP_FAILED);
  REQUIRE(mprotect(guarded, 2 * PAGE, PROT_NONE) == 0);
  stack_t stack = {.ss_sp = guarded + 2 * PAGE, .ss_size = 2 * PAGE};
  REQUIRE(sigaltstack(&stack, NULL) == 0);
  struct sigaction action = {.sa_handler = on_small_stack, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 50; i++) deep(0);
  for (int i = 0; i < 50; i++) deep(100);
  say("done\n");
  return 0;
}
