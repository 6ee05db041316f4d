// What is mapped is told by kinds: reserved addresses that become memory by pieces, files, memory that is shared or a stack.
// EXPECT totals.mapped.reserved.live_bytes == 1073696768
// EXPECT totals.mapped.reserved.peak_bytes == 1073741824
// EXPECT totals.mapped.private.live_bytes == 77824
// EXPECT totals.mapped.shared.live_bytes == 4096
// EXPECT totals.mapped.stack.live_bytes == 8192
// EXPECT totals.mapped.stack.peak_bytes == 16384
// EXPECT totals.mapped.file.live_bytes == 8192
// EXPECT totals.mapped.unknown.peak_bytes == 0
// EXPECT totals.mapped.memory.live_bytes == 90112
// EXPECT totals.mapped_live_bytes == 1073795072
// EXPECT stack function=mmap caller=reserve live_bytes=1073721344
// EXPECT stack function=mprotect allocations=0 stacks=0
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <sys/mman.h>

#define RESERVED ((size_t)1 << 30)

NOINLINE char* reserve(void) {
  return mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
NOINLINE char* map(size_t pages, int protection, int flags) {
  char* start = mmap(NULL, pages * PAGE, protection, flags | MAP_ANONYMOUS, -1, 0);
  REQUIRE(start != MAP_FAILED);
  return start;
}
NOINLINE void* map_file(const char* path) {
  int file = open(path, O_RDONLY);
  REQUIRE(file >= 0);
  char* start = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
  REQUIRE(start != MAP_FAILED && close(file) == 0);
  return start;
}

int main(int count, char** arguments) {
  (void)count;
  char* start = reserve();
  REQUIRE(start != MAP_FAILED);
  // Eight pages become memory, in pieces, and two of them are reserved again: 6 are left, of them one that can only be read.
  for (int page = 0; page < 4; page++) REQUIRE(mprotect(start + page * PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
  REQUIRE(mprotect(start + 4 * PAGE, 4 * PAGE - 1, PROT_READ | PROT_WRITE) == 0);
  REQUIRE(mprotect(start + 1 * PAGE, 2 * PAGE, PROT_NONE) == 0);
  REQUIRE(mprotect(start + 7 * PAGE, PAGE, PROT_READ) == 0);
  // Five pages of the reservation are replaced, and one of those is unmapped.
  char* fixed =
      mmap(start + 100 * PAGE, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  REQUIRE(fixed == start + 100 * PAGE);
  REQUIRE(munmap(fixed, PAGE) == 0);
  errno = 0;
  REQUIRE(mprotect((char*)(16 * PAGE), PAGE, PROT_READ) == -1);
  say("mprotect of nothing: errno %d\n", errno);
  // What moves stays what it was, and grows as such.
  char* moved = map(2, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  moved = mremap(moved, 2 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
  REQUIRE(moved != MAP_FAILED);
  char* reserved = map(1, PROT_NONE, MAP_PRIVATE);
  REQUIRE(munmap(reserved, PAGE) == 0);
  char* once = map(1, PROT_READ | PROT_EXEC, MAP_PRIVATE);
  moved[0] = fixed[PAGE] = start[0] = once == NULL;
  map(1, PROT_READ | PROT_WRITE, MAP_SHARED)[0] = 1;
  char* stack = map(4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_STACK);
  REQUIRE(munmap(stack, 2 * PAGE) == 0);
  char* file = map_file(arguments[0]);
  REQUIRE(munmap(file + 2 * PAGE, PAGE) == 0);
  return 0;
}
