// Frames of variable and of large size: alloca, arrays of run-time length, more than 64 KiB, a realigned frame.
// COMPILE -O2 -fomit-frame-pointer -fno-ipa-icf
// EXPECT stack function=malloc path=leaf<with_alloca<main allocations=10
// EXPECT stack function=malloc path=leaf<with_array<main allocations=10
// EXPECT stack function=malloc path=leaf<with_large_frame<main allocations=10
// EXPECT stack function=malloc path=leaf<with_aligned_frame<main allocations=10
// EXPECT stack through=main function=malloc allocations=40 stacks=4
#include "target.h"

#include <alloca.h>
NOINLINE int leaf(void* frame) {
  keep(frame);
  return keep(malloc(10)) != NULL;
}
NOINLINE int with_alloca(size_t size) {
  int result = leaf(alloca(size));
  return result + *(char*)keep((char*)"\0");
}
NOINLINE int with_array(size_t size) {
  char array[size];
  array[size - 1] = 0;
  return leaf(array) + array[size - 1];
}
NOINLINE int with_large_frame(void) {
  char array[200000];
  array[0] = 0;
  return leaf(array) + array[0];
}
NOINLINE int with_aligned_frame(void) {
  _Alignas(256) char array[512];
  array[0] = 0;
  return leaf(array) + array[0];
}
int main(void) {
  for (size_t i = 1; i <= 10; i++) {
    REQUIRE(with_alloca(i * 1000));
    REQUIRE(with_array(i * 777));
    REQUIRE(with_large_frame());
    REQUIRE(with_aligned_frame());
  }
  return 0;
}
