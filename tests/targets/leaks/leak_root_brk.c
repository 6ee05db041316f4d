// A block that only memory holds which the program got from brk by itself, behind the allocator's.
// RUN held
// RUN dropped
#define _GNU_SOURCE
#include "leak.h"

static void* volatile* area;
NOINLINE static void hold(void) {
  area = sbrk(PAGE);
  REQUIRE((intptr_t)area != -1);
  area[20] = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
int main(int count, char** arguments) {
  free(malloc(100));
  far_below(hold);
  if (said(arguments, "dropped")) area[20] = NULL;
  forget_registers();
  return 0;
}
