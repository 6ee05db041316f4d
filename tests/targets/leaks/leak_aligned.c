// Aligned blocks are lost.
#include "leak.h"

#include <malloc.h>
NOINLINE static void lose(void) {
  void* block;
  keep(memalign(4096, 100));                          // LEAK definite 1 100
  keep(aligned_alloc(256, 512));                      // LEAK definite 1 512
  REQUIRE(posix_memalign(&block, 65536, 1000) == 0);  // LEAK definite 1 1000
}
int main(void) {
  lose();
  forget_registers();
  return 0;
}
