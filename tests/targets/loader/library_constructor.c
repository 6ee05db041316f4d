// A linked library allocates before main and releases after it.
// LIBRARY constructing
// EXPECT stack function=malloc caller=construct_library allocations=1 frees=1 allocated_bytes=500 live_blocks=0
// EXPECT stack function=malloc path=library_allocate<main allocations=3 allocated_bytes=30
#include "target.h"
extern void* library_allocate(size_t size);
int main(void) {
  for (int i = 0; i < 3; i++) REQUIRE(library_allocate(10));
  return 0;
}
