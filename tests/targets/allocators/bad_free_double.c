// A block is released twice: the error names the allocation and both releases.
// OPTIONS --sanity
// EXPECT signal SIGABRT
// EXPECT error kind=double function=free caller=second_release allocated=malloc allocated_in=make released_in=first_release count=1
// EXPECT totals.double_frees == 1
// EXPECT totals.bad_frees == 0
// EXPECT stack function=malloc caller=make allocations=1 frees=1 live_blocks=0 live_bytes=0
#include "target.h"
NOINLINE void* make(void) { return malloc(40); }
NOINLINE void first_release(void* block) { free(block); }
NOINLINE void second_release(void* block) { free(block); }
int main(void) {
  void* block = keep(make());
  first_release(block);
  second_release(block);
  return 0;
}
