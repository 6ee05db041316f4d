// Known numbers of blocks of several sizes, by three threads, some released and some kept, many reallocated, also in vain.
// LINK -pthread
// EXPECT stack function=malloc caller=churn_small allocations=300000 frees=300000 allocated_bytes=19200000 live_blocks=0 threads=3
// EXPECT stack function=malloc caller=keep_middle allocations=12000 frees=0 allocated_bytes=12000000 live_blocks=12000
// EXPECT stack function=calloc caller=keep_large allocations=30 frees=0 allocated_bytes=30000000 live_blocks=30
// EXPECT stack function=realloc caller=grow frees=15000 live_blocks=0
// EXPECT totals.unknown_frees == 0
#include "target.h"

#include <pthread.h>
enum { kThreads = 3, kSmall = 100000, kMiddle = 4000, kLarge = 10, kGrown = 1000 };
static void* kept[kThreads][kMiddle + kLarge];
NOINLINE void churn_small(void) { free(keep(malloc(64))); }
NOINLINE void* keep_middle(void) { return keep(malloc(1000)); }
NOINLINE void* keep_large(void) { return keep(calloc(1000, 1000)); }
NOINLINE void grow(void) {
  void* block = NULL;
  for (size_t size = 100; size <= 500; size += 100) REQUIRE(block = realloc(block, size));
  REQUIRE(realloc(block, PTRDIFF_MAX) == NULL);
  free(block);
}
static void* run(void* self) {
  void** mine = kept[(intptr_t)self];
  for (int i = 0; i < kSmall; i++) churn_small();
  for (int i = 0; i < kMiddle; i++) REQUIRE(mine[i] = keep_middle());
  for (int i = 0; i < kLarge; i++) REQUIRE(mine[kMiddle + i] = keep_large());
  for (int i = 0; i < kGrown; i++) grow();
  return NULL;
}
int main(void) {
  pthread_t threads[kThreads];
  for (intptr_t i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], NULL, run, (void*)i) == 0);
  for (int i = 0; i < kThreads; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  say("done\n");
  return 0;
}
