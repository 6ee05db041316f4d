// A tail call leaves no frame: the stack is that of the machine, without the function that jumped.
// COMPILE -O2 -fomit-frame-pointer -foptimize-sibling-calls
// EXPECT stack function=malloc caller=caller allocations=50 allocated_bytes=500
// EXPECT stack function=malloc path=caller<main allocations=50
#include "target.h"
NOINLINE void* jumps_to_malloc(size_t size) { return malloc(size); }
NOINLINE int caller(void) {
  void* block = keep(jumps_to_malloc(10));
  return block != NULL;
}
int main(void) {
  for (int i = 0; i < 50; i++) REQUIRE(caller());
  return 0;
}
