// mremap grows, shrinks and moves a mapping; the bytes follow it.
// EXPECT stack function=mmap caller=map_eight allocations=3 allocated_bytes=98304 live_bytes=0
// EXPECT stack function=mremap caller=shrink live_bytes=8192
// EXPECT stack function=mremap caller=grow live_bytes=262144
// EXPECT stack function=mremap caller=move_fixed live_bytes=32768
// EXPECT totals.mapped_live_bytes == 303104
#define _GNU_SOURCE
#include "target.h"

#include <sys/mman.h>

NOINLINE char* map_eight(void) {
  return mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
NOINLINE char* shrink(char* start) { return mremap(start, 8 * PAGE, 2 * PAGE, 0); }
NOINLINE char* grow(char* start) { return mremap(start, 8 * PAGE, 64 * PAGE, MREMAP_MAYMOVE); }
NOINLINE char* move_fixed(char* start, char* destination) {
  return mremap(start, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, destination);
}

int main(void) {
  char* start = map_eight();
  REQUIRE(shrink(start) == start);
  start = map_eight();
  start[7 * PAGE] = 'x';
  start = grow(start);
  REQUIRE(start != MAP_FAILED && start[7 * PAGE] == 'x');
  start[63 * PAGE] = 1;
  start = map_eight();
  start[0] = 'y';
  // A place that is free: reserved and given back by the kernel's own numbers, unseen by the C library's functions.
  char* place = (char*)((uintptr_t)start / (PAGE * 1024) * (PAGE * 1024) - (PAGE << 20));
  REQUIRE(move_fixed(start, place) == place && place[0] == 'y');
  errno = 0;
  REQUIRE(mremap((void*)PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
  say("mremap of nothing: errno %d\n", errno);
  return 0;
}
