// A library with a place of its own that can hold a block, and a function that allocates for its caller.
#include <stdlib.h>
static void* volatile place;
__attribute__((noinline)) void* volatile* library_place(void) { return &place; }
__attribute__((noinline)) void* library_make(size_t size) {
  void* volatile block = malloc(size);
  return block;
}
