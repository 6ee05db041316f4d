// Code whose unwind tables are in .debug_frame alone, which isn't loaded, and that has no frame pointers: stacks are whole from the
// first one on.
// COMPILE -g -O2 -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions -fomit-frame-pointer
// EXPECT stack function=malloc path=inner<middle<outer<main allocations=10 allocated_bytes=100
#include "target.h"
NOINLINE void* inner(size_t size) {
  volatile char some[200];
  some[size] = 1;
  void* block = malloc(size);
  some[size] = 2;
  return block;
}
NOINLINE void* middle(size_t size) {
  volatile char some[40];
  some[size] = 1;
  void* block = inner(size);
  some[size] = 2;
  return block;
}
NOINLINE void* outer(size_t size) { return keep(middle(size)); }
int main(void) {
  for (int i = 0; i < 10; i++) keep(outer(10));
  return 0;
}
