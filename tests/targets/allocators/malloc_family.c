// Each function of the malloc family, called a known number of times with known sizes.
// EXPECT stack function=malloc caller=call_malloc allocations=3 frees=1 allocated_bytes=60 live_blocks=2 live_bytes=50
// EXPECT stack function=calloc caller=call_calloc allocations=1 frees=0 allocated_bytes=400 live_bytes=400
// EXPECT stack function=realloc caller=call_realloc allocations=2 frees=1 allocated_bytes=3000 live_bytes=2000
// EXPECT stack function=reallocarray caller=call_reallocarray allocations=2 frees=1 allocated_bytes=144 live_bytes=96
// EXPECT stack function=posix_memalign caller=call_posix_memalign allocations=1 allocated_bytes=100 live_bytes=100
// EXPECT stack function=aligned_alloc caller=call_aligned_alloc allocations=1 allocated_bytes=128 live_bytes=128
// EXPECT stack function=memalign caller=call_memalign allocations=1 allocated_bytes=77 live_bytes=77
// EXPECT stack function=valloc caller=call_valloc allocations=1 allocated_bytes=10 live_bytes=10
// EXPECT stack function=pvalloc caller=call_pvalloc allocations=1 live_blocks=1 allocated_bytes=10
// EXPECT stack through=release_all allocations=0
// EXPECT totals.bad_frees == 0
// EXPECT totals.unknown_frees == 0
// EXPECT totals.mismatched_frees == 0
#define _GNU_SOURCE
#include "target.h"

#include <malloc.h>

static void* blocks[4];

NOINLINE void call_malloc(void) {
  for (int i = 1; i <= 3; i++) blocks[i] = malloc((size_t)i * 10);
}
NOINLINE void* call_calloc(void) { return calloc(100, 4); }
NOINLINE void* call_realloc(void) {
  void* block = realloc(NULL, 1000);
  return realloc(block, 2000);
}
NOINLINE void* call_reallocarray(void) {
  void* block = reallocarray(NULL, 6, 8);
  return reallocarray(block, 12, 8);
}
NOINLINE void* call_posix_memalign(void) {
  void* block = NULL;
  REQUIRE(posix_memalign(&block, 64, 100) == 0);
  return block;
}
NOINLINE void* call_aligned_alloc(void) { return aligned_alloc(64, 128); }
NOINLINE void* call_memalign(void) { return memalign(256, 77); }
NOINLINE void* call_valloc(void) { return valloc(10); }
NOINLINE void* call_pvalloc(void) { return pvalloc(10); }
NOINLINE void release_all(void) { free(blocks[1]); }

int main(void) {
  call_malloc();
  REQUIRE(((char*)call_calloc())[399] == 0);
  REQUIRE(call_realloc());
  REQUIRE(call_reallocarray());
  REQUIRE((uintptr_t)call_posix_memalign() % 64 == 0);
  REQUIRE((uintptr_t)call_aligned_alloc() % 64 == 0);
  REQUIRE((uintptr_t)call_memalign() % 256 == 0);
  REQUIRE((uintptr_t)call_valloc() % PAGE == 0);
  REQUIRE((uintptr_t)call_pvalloc() % PAGE == 0);
  release_all();
  return 0;
}
