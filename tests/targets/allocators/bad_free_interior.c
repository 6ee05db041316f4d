// A pointer into the middle of a block is released: the error names the block, which stays alive.
// OPTIONS --sanity
// EXPECT signal SIGABRT
// EXPECT error kind=interior function=free caller=release allocated=malloc allocated_in=make count=1
// EXPECT totals.bad_frees == 1
// EXPECT totals.double_frees == 0
// EXPECT stack function=malloc caller=make allocations=1 frees=0 live_blocks=1 live_bytes=400
#include "target.h"
NOINLINE char* make(void) { return malloc(400); }
NOINLINE void release(void* block) { free(block); }
int main(void) {
  char* block = keep(make());
  release(block + 24);
  return 0;
}
