// A block that only memory holds which the program got from brk by itself: behind the allocator's, between its parts, or before
// them.
// RUN held
// RUN dropped
// RUN held between
// RUN dropped between
#define _GNU_SOURCE
#include "leak.h"

static void* volatile* area;
NOINLINE static void hold(void) {
  area = sbrk(PAGE);
  REQUIRE((intptr_t)area != -1);
  area[20] = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
// So that the allocator goes on behind that.
NOINLINE static void fill(void) {
  for (int i = 0; i < 4000; i++) {
    void** next = malloc(100);  // LEAK held+between: reachable 4000 400000; dropped+between: reachable 4000 400000
    static void** last;
    *next = last;
    last = next;
  }
}
int main(int count, char** arguments) {
  free(malloc(100));
  far_below(hold);
  if (said(arguments, "between")) fill();
  if (said(arguments, "dropped")) area[20] = NULL;
  forget_registers();
  return 0;
}
