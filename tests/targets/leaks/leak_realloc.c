// A block that has grown is lost where it grew last; one that couldn't grow isn't.
#include "leak.h"
static void* volatile root;
NOINLINE static void grow(void) {
  void* block = malloc(10);
  for (size_t size = 100; size <= 4000; size += 100) block = realloc(block, size);  // LEAK definite 1 4000
}
NOINLINE static void shrink(void) {
  void* block = malloc(1000);
  keep(realloc(block, 20));  // LEAK definite 1 20
}
NOINLINE static void fail(void) {
  root = malloc(30);  // LEAK reachable 1 30
  REQUIRE(!realloc(root, SIZE_MAX / 2 + PAGE));
}
int main(void) {
  grow();
  shrink();
  fail();
  forget_registers();
  return 0;
}
