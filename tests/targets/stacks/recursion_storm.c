// 20,000 frames, and an allocation in each of them: in bounded time, and nothing is lost. (Each has a stack of its own, so
// the report as JSON is too long for a test to look into.)
// TRACE any
#include "target.h"
NOINLINE void recurse(int depth) {
  if (depth == 0) return;
  void* block = malloc(10);
  recurse(depth - 1);
  free(block);
}
int main(void) {
  recurse(20000);
  say("done\n");
  return 0;
}
