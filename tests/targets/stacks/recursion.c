// Recursion to the depth that is the first argument, with an allocation at every so-manyth depth (the second argument) on
// the way down and a release on the way up.
// RUN 100 1
// EXPECT stack function=malloc caller=recurse allocations=100 frees=100 allocated_bytes=1000 stacks=100
// EXPECT stack function=malloc caller=recurse through=main allocations=100
// RUN 1000 1
// EXPECT stack function=malloc caller=recurse allocations=1000 frees=1000 allocated_bytes=10000 stacks=1000
// RUN 20000 1000
// EXPECT stack function=malloc caller=recurse allocations=20 frees=20 allocated_bytes=200
#include "target.h"
NOINLINE void recurse(int depth, int every) {
  if (depth == 0) return;
  void* block = depth % every ? NULL : malloc(10);
  recurse(depth - 1, every);
  free(block);
}
int main(int count, char** arguments) {
  REQUIRE(count > 2);
  recurse(atoi(arguments[1]), atoi(arguments[2]));
  say("done\n");
  return 0;
}
