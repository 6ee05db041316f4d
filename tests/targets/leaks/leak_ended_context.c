// A context whose function has returned: what its stack still has in it holds nothing. Where nothing saved the context since
// makecontext made it, it looks as if it had not begun; else as it was when it last waited.
// RUN ended
// RUN waiting
// RUN ended twice
// RUN ended pausing
// RUN paused
#include "leak.h"

#include <sys/mman.h>
#include <ucontext.h>
#define SIZE 65536
static void* volatile box;
static ucontext_t outside, inside;
static void fill_box(void) {
  box = malloc(32);  // LEAK ended: definite 1 32; waiting: reachable 1 32; paused: reachable 1 32
}
static int pauses;
static void body(void) {
  void* volatile local[8];
  for (int i = 0; i < 8; ++i) local[i] = box;
  forget_registers();  // which a context keeps
  if (pauses) swapcontext(&inside, &outside);
  box = NULL;
  forget_registers();
}
static void nothing(void) {}
int main(int count, char** arguments) {
  void* stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(stack != MAP_FAILED);
  far_below(fill_box);
  forget_registers();
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = SIZE;
  inside.uc_link = &outside;
  makecontext(&inside, said(arguments, "waiting") ? nothing : body, 0);
  pauses = said(arguments, "pausing") || said(arguments, "paused");
  if (said(arguments, "waiting")) {
    ((void* volatile*)stack)[100] = box;  // what one gives to a context before it begins
    box = NULL;
  } else {
    swapcontext(&outside, &inside);
    if (said(arguments, "pausing")) swapcontext(&outside, &inside);
    if (said(arguments, "paused")) box = NULL;
  }
  if (said(arguments, "twice")) {
    makecontext(&inside, nothing, 0);
    swapcontext(&outside, &inside);
  }
  forget_registers();
  return 0;
}
