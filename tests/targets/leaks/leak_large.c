// Blocks that the allocator maps are lost as others are; and are no roots.
#include "leak.h"
NOINLINE static void lose(void) {
  void* volatile* large = malloc(1000000);  // LEAK definite 1 1000000
  large[100000] = malloc(32);               // LEAK indirect 1 32
}
int main(void) {
  lose();
  forget_registers();
  return 0;
}
