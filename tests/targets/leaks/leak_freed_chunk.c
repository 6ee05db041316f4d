// A block that only memory points to which was given back to the allocator.
// LEVELS -O2
// RUN small
// RUN large
#include "leak.h"
static void* volatile guard;
NOINLINE static void lose(size_t size) {
  void* volatile* holder = malloc(size);
  guard = malloc(16);      // LEAK reachable 1 16
  holder[8] = malloc(32);  // LEAK definite 1 32
  free((void*)holder);
}
int main(int count, char** arguments) {
  lose(said(arguments, "small") ? 200 : 5000);
  forget_registers();
  return 0;
}
