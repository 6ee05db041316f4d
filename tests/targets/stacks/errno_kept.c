// No call that succeeds changes errno, whatever heaptap does inside it. The first calls, those that make new stacks and
// those that need new log memory are all among these.
// EXPECT stack caller=each_function allocations=40000 frees=40000
// EXPECT stack function=mmap caller=map_pages allocations=100 frees=100 live_bytes=0
#define _GNU_SOURCE
#include "target.h"

#include <malloc.h>
#include <sys/mman.h>

NOINLINE void each_function(void) {
  void* block;
  for (int i = 0; i < 5000; i++) {
    errno = 1000 + i;
    free(malloc(10));
    free(calloc(3, 10));
    block = realloc(NULL, 10);
    block = realloc(block, 100);
    block = reallocarray(block, 10, 20);
    free(block);
    REQUIRE(posix_memalign(&block, 64, 10) == 0);
    free(block);
    free(aligned_alloc(64, 64));
    free(memalign(64, 10));
    free(NULL);
    REQUIRE(errno == 1000 + i);
  }
}

NOINLINE void map_pages(void) {
  for (int i = 0; i < 100; i++) {
    errno = 2000 + i;
    void* start = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(start, PAGE);
    REQUIRE(errno == 2000 + i);
  }
}

NOINLINE void at_depth(int depth) {
  errno = depth;
  free(malloc(1));
  REQUIRE(errno == depth);
  if (depth > 0) at_depth(depth - 1);
}

int main(void) {
  errno = 33;
  free(malloc(1));
  REQUIRE(errno == 33);
  each_function();
  map_pages();
  at_depth(500);
  say("errno kept\n");
  return 0;
}
