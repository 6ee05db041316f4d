// Blocks that the allocator maps are lost as others are; and are no roots. No larger than they must be: in 32 bits a word that
// only looks like a pointer, such as the canary of stacks, points into a block of 1 MB once in 4,295 times.
#include "leak.h"

#include <stdlib.h>
// More than stands free at the heap's end at first: a static program's start leaves some there, which glibc gives out before it maps.
#define SIZE 140000
// A static program of musl's has an allocator that maps nothing, unless it names free.
void (*volatile release)(void*) = free;
NOINLINE static void lose(void) {
  void* volatile* large = malloc(SIZE);  // LEAK definite 1 *
  large[10] = malloc(32);                // LEAK indirect 1 32
  REQUIRE((char*)large > (char*)sbrk(0));
}
int main(void) {
  lose();
  forget_registers();
  return 0;
}
