// Blocks of random size and life, from many call sites: a trace of it doesn't get small. The number is the argument.
// RUN 200000
// EXPECT stack function=malloc through=step allocations=200000 frees=200000
// EXPECT totals.bad_frees == 0
#include "target.h"
static unsigned long long state = 88172645463325252ull;
static unsigned next(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state % below);
}
static void* blocks[1000];
#define SITE(n)                 \
  case n:                       \
    *slot = malloc(next(2000)); \
    break;
NOINLINE void step(int depth) {
  if (depth) return step(depth - 1);
  void** slot = &blocks[next(1000)];
  free(*slot);
  switch (next(8)) { SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7) }
}
int main(int count, char** arguments) {
  long steps = count > 1 ? atol(arguments[1]) : 1000;
  for (long i = 0; i < steps; i++) step((int)next(12));
  for (int i = 0; i < 1000; i++) free(blocks[i]);
  say("%ld steps\n", steps);
  return 0;
}
