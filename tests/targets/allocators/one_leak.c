// The smallest program with something to report; tests of the command line use it.
// EXPECT exit 3
// EXPECT stack function=malloc caller=lose allocations=10 frees=0 allocated_bytes=1000 live_bytes=1000
#include "target.h"
NOINLINE void lose(void) {
  for (int i = 0; i < 10; i++) keep(malloc(100));
}
NOINLINE void descend(int depth) {
  if (depth > 0)
    descend(depth - 1);
  else
    lose();
}
int main(void) {
  descend(20);
  say("output\n");
  return 3;
}
