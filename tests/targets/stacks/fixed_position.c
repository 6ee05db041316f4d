// A program that is linked to a fixed address.
// COMPILE -fno-pie
// LINK -no-pie
// EXPECT stack function=malloc path=make<main allocations=10 allocated_bytes=100
#include "target.h"
NOINLINE void* make(size_t size) { return malloc(size); }
int main(void) {
  for (int i = 0; i < 10; i++) keep(make(10));
  say("malloc is one: %d\n", (void*)malloc != NULL);
  return 0;
}
