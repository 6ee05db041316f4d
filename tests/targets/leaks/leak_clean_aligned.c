// Aligned blocks begin in the middle of the allocator's memory; they are held by their start.
// CLEAN
#include "leak.h"

#include <malloc.h>
static void* volatile held[4];
NOINLINE static void hold(void) {
  void* block;
  held[0] = memalign(4096, 100);
  held[1] = aligned_alloc(256, 512);
  REQUIRE(posix_memalign(&block, 65536, 1000) == 0);
  held[2] = block;
  held[3] = valloc(10);
  *(void* volatile*)held[2] = memalign(64, 70);
}
int main(void) {
  hold();
  forget_registers();
  return 0;
}
