// MAP_FIXED over a part of an older mapping: the older one keeps only what wasn't covered.
// EXPECT stack function=mmap caller=map_below allocations=1 allocated_bytes=65536 live_bytes=49152
// EXPECT stack function=mmap caller=map_over allocations=1 allocated_bytes=16384 live_bytes=16384
// EXPECT totals.mapped_live_bytes == 65536
#define _GNU_SOURCE
#include "target.h"

#include <sys/mman.h>

NOINLINE char* map_below(void) {
  return mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
NOINLINE char* map_over(char* place) {
  return mmap(place, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

int main(void) {
  char* start = map_below();
  REQUIRE(map_over(start + 4 * PAGE) == start + 4 * PAGE);
  return 0;
}
