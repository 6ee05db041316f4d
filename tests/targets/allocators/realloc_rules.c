// realloc of nothing allocates, to nothing releases, a failed one keeps the block and its stack.
// EXPECT stack function=realloc caller=from_nothing allocations=1 frees=0 allocated_bytes=100 live_bytes=100
// EXPECT stack function=malloc caller=to_nothing allocations=1 frees=1 live_blocks=0
// EXPECT stack function=realloc caller=to_nothing allocations=0
// EXPECT stack function=malloc caller=too_large allocations=1 frees=0 live_bytes=50
// EXPECT stack function=realloc caller=too_large allocations=0
// EXPECT stack function=realloc caller=grow_by_steps allocations=64 frees=63 allocated_bytes=2080000 live_blocks=1 live_bytes=64000
// EXPECT stack function=malloc caller=same_size allocations=1 frees=1
// EXPECT stack function=realloc caller=same_size allocations=1 frees=0 live_bytes=40
// EXPECT stack function=realloc caller=nothing_to_nothing allocations=1 frees=1 allocated_bytes=0
// EXPECT totals.bad_frees == 0
// EXPECT totals.double_frees == 0
// EXPECT totals.unknown_frees == 0
#include "target.h"

NOINLINE void* from_nothing(void) { return realloc(NULL, 100); }
NOINLINE void* to_nothing(void) { return realloc(malloc(10), 0); }
NOINLINE void* too_large(void) {
  char* block = malloc(50);
  block[49] = 'k';
  errno = 0;
  REQUIRE(realloc(block, (size_t)-4096) == NULL);
  say("too large: errno %d, kept %c\n", errno, block[49]);
  return block;
}
NOINLINE void* grow_by_steps(void) {
  void* block = NULL;
  for (size_t step = 1; step <= 64; step++) block = realloc(block, step * 1000);
  return block;
}
NOINLINE void* same_size(void) { return realloc(malloc(40), 40); }
NOINLINE void nothing_to_nothing(void) {
  void* block = realloc(NULL, 0);
  say("realloc(NULL, 0): %s\n", block ? "a block" : "NULL");
  free(block);
}

int main(void) {
  REQUIRE(from_nothing());
  say("realloc to nothing: %s\n", to_nothing() ? "a block" : "NULL");
  REQUIRE(too_large());
  REQUIRE(grow_by_steps());
  REQUIRE(same_size());
  nothing_to_nothing();
  return 0;
}
