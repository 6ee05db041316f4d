// An allocator that is preloaded takes the place of the C library's, for the program and for the library itself.
// NEEDS libjemalloc.so.2
// ENV LD_PRELOAD=libjemalloc.so.2
// EXPECT stack function=malloc caller=allocate allocations=100 frees=100 allocated_bytes=1000
// EXPECT stack function=calloc caller=allocate_zeroed allocations=100 frees=100 allocated_bytes=4000
// EXPECT stack function=malloc through=duplicate allocations=10 frees=0 allocated_bytes=60
// EXPECT totals.unknown_frees == 0
#include "target.h"
NOINLINE void allocate(void) { free(keep(malloc(10))); }
NOINLINE void allocate_zeroed(void) { free(keep(calloc(4, 10))); }
NOINLINE void duplicate(void) { keep(strdup("short")); }
int main(void) {
  for (int i = 0; i < 100; i++) allocate();
  for (int i = 0; i < 100; i++) allocate_zeroed();
  for (int i = 0; i < 10; i++) duplicate();
  say("done\n");
  return 0;
}
