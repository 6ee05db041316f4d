// A block that only a global with an initial value holds.
// LEVELS -O2
// RUN held
// RUN dropped
#include "leak.h"
static void* volatile root = (void*)&root;
NOINLINE static void hold(void) {
  root = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
int main(int count, char** arguments) {
  hold();
  if (said(arguments, "dropped")) root = NULL;
  forget_registers();
  return 0;
}
