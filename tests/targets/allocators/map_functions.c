// mmap, mmap64, munmap and mremap are counted in stacks of their own and in no total but the mapped bytes.
// EXPECT stack function=mmap caller=call_mmap allocations=2 frees=1 allocated_bytes=65536 live_bytes=32768
// EXPECT stack function=mmap64 caller=call_mmap64 allocations=1 allocated_bytes=16384 live_bytes=16384
// EXPECT stack function=malloc caller=call_malloc allocations=1 allocated_bytes=100
// EXPECT stack function=mmap caller=fail_mmap allocations=0
// EXPECT totals.mapped_live_bytes == 49152
#define _GNU_SOURCE
#include "target.h"

#include <sys/mman.h>

NOINLINE void* call_mmap(void) {
  return mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
NOINLINE void* call_mmap64(void) {
  return mmap64(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
NOINLINE void fail_mmap(void) {
  errno = 0;
  REQUIRE(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  say("mmap of nothing: errno %d\n", errno);
  REQUIRE(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED);
  say("mmap of no file: errno %d\n", errno);
}
NOINLINE void* call_malloc(void) { return malloc(100); }

int main(void) {
  char* first = call_mmap();
  char* second = call_mmap();
  REQUIRE(first != MAP_FAILED && second != MAP_FAILED);
  REQUIRE(call_mmap64() != MAP_FAILED);
  fail_mmap();
  REQUIRE(call_malloc());
  REQUIRE(munmap(second, 8 * PAGE) == 0);
  errno = 0;
  REQUIRE(munmap((void*)1, PAGE) == -1);
  say("munmap of nonsense: errno %d\n", errno);
  first[0] = 1;
  return 0;
}
