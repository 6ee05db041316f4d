// A block that only a global without an initial value holds, in the middle of others.
// LEVELS -O2
// RUN held
// RUN dropped
#include "leak.h"
static void* volatile roots[5000];
NOINLINE static void hold(void) {
  roots[2718] = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
int main(int count, char** arguments) {
  hold();
  if (said(arguments, "dropped")) roots[2718] = NULL;
  forget_registers();
  return 0;
}
