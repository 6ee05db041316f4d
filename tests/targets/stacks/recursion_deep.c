// 100,000 frames (or as many as the argument says), and an allocation in each of them: in a time that grows with the depth, not with its square. (In a thread, whose
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
static void* run(void* depth) {
  recurse(*(int*)depth);
  return depth;
}
int main(int count, char** arguments) {
  int depth = count > 1 ? atoi(arguments[1]) : 100000;
  pthread_attr_t attributes;
  pthread_t thread;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, (size_t)64 << 20) == 0);
  REQUIRE(pthread_create(&thread, &attributes, run, &depth) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  say("done\n");
  return 0;
}
