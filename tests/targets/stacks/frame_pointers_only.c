// Code without unwind tables, but with frame pointers: the stack is whole.
// COMPILE -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions -fno-omit-frame-pointer
// EXPECT stack function=malloc path=inner<middle<outer<main allocations=10 allocated_bytes=100
#include "target.h"
NOINLINE void* inner(size_t size) { return malloc(size); }
NOINLINE void* middle(size_t size) { return inner(size); }
NOINLINE void* outer(size_t size) { return middle(size); }
int main(void) {
  for (int i = 0; i < 10; i++) keep(outer(10));
  return 0;
}
