// The program ends inside a context: main's stack is the inactive one, and a variable of main holds a block. Where that stack
// begins to live stands in a context that nobody was told of, so that a dropped block's address in its dead part may count.
// RUN held
// RUN dropped
#include "leak.h"

#include <ucontext.h>
static void* volatile box;
static char array[65536];
static ucontext_t outside, inside;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32 | reachable 1 32
}
static void body(void) {
  forget_registers();
  exit(0);
}
int main(int count, char** arguments) {
  far_below(fill_box);
  void* volatile local = box;
  box = NULL;
  if (said(arguments, "dropped")) local = NULL;
  forget_registers();
  getcontext(&inside);
  inside.uc_stack.ss_sp = array;
  inside.uc_stack.ss_size = sizeof array;
  makecontext(&inside, body, 0);
  swapcontext(&outside, &inside);
  keep(local);
  return 0;
}
