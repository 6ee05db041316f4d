// A frame of 300 KiB on a context's stack: what lies behind it is the stack's still.
// COMPILE -O1
// EXPECT stack function=malloc path=inner<large<outer<body allocations=100 allocated_bytes=1000
#include "target.h"

#include <ucontext.h>
static ucontext_t outside;
static ucontext_t inside;
static char stack[1 << 20];
NOINLINE static void inner(void) {
  keep(malloc(10));
  keep(NULL);
}
NOINLINE static void large(void) {
  char room[300 << 10];
  keep(room);
  inner();
  keep(room);
}
NOINLINE static void outer(void) {
  large();
  keep(NULL);
}
static void body(void) {
  for (int i = 0; i < 100; i++) outer();
  setcontext(&outside);
}
int main(void) {
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = sizeof stack;
  makecontext(&inside, body, 0);
  swapcontext(&outside, &inside);
  say("done\n");
  return 0;
}
