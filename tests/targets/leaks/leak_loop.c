// One line allocates fifty times into the same pointer.
// LEVELS -O2
#include "leak.h"
static void* volatile root;
NOINLINE static void loop(void) {
  for (int i = 0; i < 50; i++) root = malloc(100);  // LEAK definite 49 4900, reachable 1 100
}
int main(void) {
  loop();
  forget_registers();
  return 0;
}
