// 100,000 frames, and an allocation in each of them: in a time that grows with the depth, not with its square. (In a thread, whose
// stack has room for that; the report as JSON is too long for each run of this, robustness_test.py looks at it.)
// TRACE any
#include <pthread.h>

#include "target.h"
NOINLINE void recurse(int depth) {
  if (depth == 0) return;
  void* block = keep(malloc(10));
  recurse(depth - 1);
  free(block);
}
static void* run(void* nothing) {
  recurse(100000);
  return nothing;
}
int main(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, (size_t)64 << 20) == 0);
  REQUIRE(pthread_create(&thread, &attributes, run, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  say("done\n");
  return 0;
}
