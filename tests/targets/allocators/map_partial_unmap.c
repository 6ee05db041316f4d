// A mapping of which the middle, the start and the end are unmapped piece by piece keeps exactly what is still mapped.
// EXPECT stack function=mmap caller=map_sixteen allocations=1 allocated_bytes=65536 live_bytes=28672
// EXPECT stack function=mmap caller=map_two_and_unmap_across allocations=3 live_bytes=16384
// EXPECT totals.mapped_live_bytes == 45056
#define _GNU_SOURCE
#include "target.h"

#include <sys/mman.h>

NOINLINE char* map_sixteen(void) {
  return mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// Two mappings side by side, and one munmap that takes the end of the first and the start of the second.
NOINLINE void map_two_and_unmap_across(void) {
  const int fixed = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  char* place = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(munmap(place, 8 * PAGE) == 0);
  REQUIRE(mmap(place, 4 * PAGE, PROT_READ | PROT_WRITE, fixed, -1, 0) == place);
  REQUIRE(mmap(place + 4 * PAGE, 4 * PAGE, PROT_READ | PROT_WRITE, fixed, -1, 0) == place + 4 * PAGE);
  REQUIRE(munmap(place + 2 * PAGE, 4 * PAGE) == 0);  // leaves 2 pages of each
}

int main(void) {
  char* start = map_sixteen();
  REQUIRE(start != MAP_FAILED);
  REQUIRE(munmap(start + 4 * PAGE, 4 * PAGE) == 0);   // the middle: 12 left
  REQUIRE(munmap(start, 2 * PAGE) == 0);              // the start: 10 left
  REQUIRE(munmap(start + 14 * PAGE, 2 * PAGE) == 0);  // the end: 8 left
  REQUIRE(munmap(start + 3 * PAGE, 3 * PAGE) == 0);   // one mapped page and a hole: 7 left
  start[2 * PAGE] = 1;
  map_two_and_unmap_across();
  return 0;
}
