// A program linked with jemalloc; its calls are seen like any other's, and go to jemalloc.
// LINK -l:libjemalloc.so.2 -ldl
// NEEDS libjemalloc.so.2
// EXPECT stack function=malloc caller=allocate allocations=1000 frees=900 allocated_bytes=16000 live_blocks=100
// EXPECT stack function=calloc caller=allocate allocations=10 frees=0
// EXPECT stack function=aligned_alloc caller=allocate allocations=10 frees=0
// EXPECT totals.unknown_frees == 0
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
NOINLINE void allocate(void) {
  for (int i = 0; i < 1000; i++) {
    void* block = keep(malloc(16));
    if (i % 10) free(block);
  }
  for (int i = 0; i < 10; i++) keep(calloc(10, 10)), keep(aligned_alloc(64, 64));
}
extern size_t sallocx(const void*, int);
int main(void) {
  allocate();
  void* block = keep(malloc(100));
  say("jemalloc says %zu\n", sallocx(block, 0));
  return 0;
}
