// Recursion to the depth that is the argument, with an allocation at each depth on the way down and a release on the way up.
// RUN 100
// EXPECT stack function=malloc caller=recurse allocations=100 frees=100 allocated_bytes=1000 stacks=100
// EXPECT stack function=malloc caller=recurse through=main allocations=100
// RUN 1000
// EXPECT stack function=malloc caller=recurse allocations=1000 frees=1000 allocated_bytes=10000
// RUN 20000
// EXPECT stack function=malloc caller=recurse allocations=20000 frees=20000 allocated_bytes=200000
#include "target.h"
NOINLINE void recurse(int depth) {
  if (depth == 0) return;
  void* block = malloc(10);
  recurse(depth - 1);
  free(block);
}
int main(int count, char** arguments) {
  recurse(count > 1 ? atoi(arguments[1]) : 100);
  say("done\n");
  return 0;
}
