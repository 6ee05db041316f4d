// Blocks that the allocator maps are lost as others are; and are no roots. No larger than they must be: in 32 bits a word that
// only looks like a pointer, such as the canary of stacks, points into a block of 1 MB once in 4,295 times.
#include "leak.h"

#include <malloc.h>
#ifdef M_MMAP_THRESHOLD
#define SIZE 200
#define MAP_FROM(size) REQUIRE(mallopt(M_MMAP_THRESHOLD, size) == 1)
#else  // musl: from 128 KiB on, and 64 bits
#define SIZE 140000
#define MAP_FROM(size)
#endif
NOINLINE static void lose(void) {
  void* volatile* large = malloc(SIZE);  // LEAK definite 1 *
  large[10] = malloc(32);                // LEAK indirect 1 32
  REQUIRE((char*)large > (char*)sbrk(0));
}
int main(void) {
  MAP_FROM(SIZE);
  lose();
  forget_registers();
  return 0;
}
