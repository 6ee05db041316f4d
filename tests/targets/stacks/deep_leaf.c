// Allocations at the end of a deep recursion, from two places that differ only near the root.
// COMPILE -O2 -fomit-frame-pointer -fno-ipa-icf
// RUN 50
// EXPECT stack function=malloc path=leaf through=from_left allocations=100 allocated_bytes=1000
// EXPECT stack function=malloc path=leaf through=from_right allocations=100 allocated_bytes=2000
// RUN 20000
// EXPECT stack function=malloc path=leaf allocations=200 allocated_bytes=3000
#include "target.h"
NOINLINE int leaf(size_t size) {
  void* block = keep(malloc(size));
  return block != NULL;
}
NOINLINE int descend(int depth, size_t size) {
  if (depth == 0) return leaf(size);
  int result = descend(depth - 1, size);
  keep(&result);
  return result + 1;
}
NOINLINE int from_left(int depth) {
  int result = descend(depth, 10);
  keep(&result);
  return result;
}
NOINLINE int from_right(int depth) {
  int result = descend(depth, 20);
  keep(&result);
  return result;
}
int main(int count, char** arguments) {
  int depth = count > 1 ? atoi(arguments[1]) : 50;
  int sum = 0;
  for (int i = 0; i < 100; i++) sum += from_left(depth) + from_right(depth);
  say("%d\n", sum);
  return 0;
}
