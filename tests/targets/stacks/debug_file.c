// A stripped program with its debug file beside it: functions have their names, and a static one's malloc is found.
// COMPILE -g
// STRIPPED debug-file
// EXPECT stack function=malloc path=inner<outer<main allocations=10 allocated_bytes=100
// EXPECT stack function=malloc caller=outer allocations=10 frees=10 allocated_bytes=200
#include "target.h"
NOINLINE void* inner(void) { return keep(malloc(10)); }
NOINLINE void* outer(void) {
  free(keep(malloc(20)));
  return inner();
}
int main(void) {
  for (int i = 0; i < 10; i++) keep(outer());
  return 0;
}
