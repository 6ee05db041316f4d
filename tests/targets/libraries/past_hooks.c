// Allocates, releases and holds by itself: which functions it calls is the affair of how it is loaded.
#include <stdlib.h>
static void* volatile held;
__attribute__((noinline)) void* past_allocate(size_t size) { return malloc(size); }
__attribute__((noinline)) void past_release(void* block) { free(block); }
__attribute__((noinline)) void past_hold(void* block) {
  void** node = malloc(sizeof(void*));
  *node = block;
  held = node;
}
