// A block with its length in the first word, held by a pointer behind that: as good as one to its start. With another number
// there it is only possible.
#include "leak.h"
static void* volatile roots[2];
NOINLINE static void fits(void) {
  uint64_t* block = malloc(208);  // LEAK reachable 1 208
  block[0] = 200;
  roots[0] = block + 1;
}
NOINLINE static void does_not_fit(void) {
  uint64_t* block = malloc(216);  // LEAK possible 1 216
  block[0] = 4711;
  roots[1] = block + 1;
}
int main(void) {
  fits();
  does_not_fit();
  forget_registers();
  return 0;
}
