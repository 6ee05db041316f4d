// A block is released and its memory allocated anew with the old contents in it: the old pointer still counts, since no scan
// can know better. Zeroed memory holds nothing.
#include "leak.h"
static void* volatile dirty;
static void* volatile zeroed;
NOINLINE static void run(void) {
  void* volatile* holder = malloc(600);
  holder[40] = malloc(41);  // LEAK reachable 1 41 | definite 1 41
  free((void*)holder);
  dirty = malloc(600);  // LEAK reachable 1 600
  holder = malloc(700);
  holder[40] = malloc(42);  // LEAK definite 1 42
  free((void*)holder);
  zeroed = calloc(1, 700);  // LEAK reachable 1 700
}
int main(void) {
  run();
  forget_registers();
  return 0;
}
