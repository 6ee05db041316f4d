// Blocks that the allocator maps are lost as others are; and are no roots. No larger than they must be: in 32 bits a word that
// only looks like a pointer, such as the canary of stacks, points into a block of 1 MB once in 4,295 times.
#include "leak.h"
NOINLINE static void lose(void) {
  void* volatile* large = malloc(140000);  // LEAK definite 1 140000
  large[10000] = malloc(32);               // LEAK indirect 1 32
}
int main(void) {
  lose();
  forget_registers();
  return 0;
}
