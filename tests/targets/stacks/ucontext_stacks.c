// Contexts on stacks of their own, switched in all orders, each allocating at two depths.
// COMPILE -O1 -fomit-frame-pointer
// EXPECT stack function=malloc path=deeper<alpha allocations=60 allocated_bytes=600
// EXPECT stack function=malloc path=deeper<beta allocations=60 allocated_bytes=1200
// EXPECT stack function=malloc path=deeper<gamma_ allocations=60 allocated_bytes=1800
// EXPECT stack function=malloc caller=alpha allocations=60 allocated_bytes=60
// EXPECT stack function=malloc caller=beta allocations=60 allocated_bytes=120
// EXPECT stack function=malloc caller=gamma_ allocations=60 allocated_bytes=180
// EXPECT stack function=malloc path=in_main<main allocations=60 allocated_bytes=60
// EXPECT stack path=deeper<alpha through=main allocations=0
#include "target.h"

#include <ucontext.h>
static ucontext_t contexts[4];  // main, alpha, beta, gamma
static char stacks[4][65536];
static int next[4];
NOINLINE void* deeper(size_t size) {
  void* block = keep(malloc(size));
  return block;
}
static void alpha(void) {
  for (;;) {
    keep(malloc(1));
    keep(deeper(10));
    swapcontext(&contexts[1], &contexts[next[1]]);
  }
}
static void beta(void) {
  for (;;) {
    keep(malloc(2));
    keep(deeper(20));
    swapcontext(&contexts[2], &contexts[next[2]]);
  }
}
static void gamma_(void) {
  for (;;) {
    keep(malloc(3));
    keep(deeper(30));
    swapcontext(&contexts[3], &contexts[next[3]]);
  }
}
NOINLINE void in_main(void) { keep(malloc(1)); }
int main(void) {
  void (*bodies[])(void) = {NULL, alpha, beta, gamma_};
  for (int i = 1; i < 4; i++) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks[i];
    contexts[i].uc_stack.ss_size = sizeof stacks[i];
    makecontext(&contexts[i], bodies[i], 0);
  }
  static const int orders[6][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < 6; i++) {
      const int* order = orders[i];
      next[order[0]] = order[1];
      next[order[1]] = order[2];
      next[order[2]] = 0;
      swapcontext(&contexts[0], &contexts[order[0]]);
      in_main();
    }
  }
  say("done\n");
  return 0;
}
