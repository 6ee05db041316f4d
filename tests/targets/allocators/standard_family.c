// The functions that every C library has: each is counted as what was called, with the size that was asked for.
// EXPECT stack function=malloc caller=call_malloc allocations=10 frees=10 allocated_bytes=100
// EXPECT stack function=calloc caller=call_calloc allocations=10 frees=10 allocated_bytes=600
// EXPECT stack function=realloc caller=call_realloc allocations=20 frees=20 allocated_bytes=3000
// EXPECT stack function=posix_memalign caller=call_posix_memalign allocations=10 frees=10 allocated_bytes=300
// EXPECT stack function=aligned_alloc caller=call_aligned_alloc allocations=10 frees=10 allocated_bytes=640
// EXPECT stack function=strdup allocations=0
// EXPECT stack through=call_strdup allocations=10 allocated_bytes=60
#define _GNU_SOURCE
#include "target.h"
NOINLINE void call_malloc(void) { free(keep(malloc(10))); }
NOINLINE void call_calloc(void) { free(keep(calloc(3, 20))); }
NOINLINE void call_realloc(void) {
  void* block = keep(realloc(NULL, 100));
  free(keep(realloc(block, 200)));
}
NOINLINE void call_posix_memalign(void) {
  void* block = NULL;
  REQUIRE(posix_memalign(&block, 64, 30) == 0);
  free(keep(block));
}
NOINLINE void call_aligned_alloc(void) { free(keep(aligned_alloc(64, 64))); }
NOINLINE void call_strdup(void) { free(keep(strdup("short"))); }
int main(void) {
  for (int i = 0; i < 10; i++) {
    call_malloc();
    call_calloc();
    call_realloc();
    call_posix_memalign();
    call_aligned_alloc();
    call_strdup();
  }
  free(NULL);
  say("done\n");
  return 0;
}
