// A block that only a variable of main holds, when exit is called further down.
// LEVELS -O2
// RUN held
// RUN dropped
#include "leak.h"
static void* volatile box;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
NOINLINE static int leave(volatile int depth) {
  if (depth == 0) exit(0);
  return leave(depth - 1) + 1;
}
int main(int count, char** arguments) {
  far_below(fill_box);
  void* volatile local = box;
  box = NULL;
  if (said(arguments, "dropped")) local = NULL;
  forget_registers();
  int result = leave(10);
  keep(local);
  return result;
}
