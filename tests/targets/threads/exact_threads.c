// Eight threads that allocate at once, each also releasing what its neighbour allocated: every call is counted.
// LINK -pthread
// REPEAT 20
// EXPECT stack function=malloc caller=allocate allocations=480 frees=480 allocated_bytes=48480 live_blocks=0 threads=8
// EXPECT stack function=calloc caller=allocate_zeroed allocations=240 frees=240 allocated_bytes=9600 live_blocks=0
// EXPECT stack function=realloc caller=grow allocations=240 frees=240 allocated_bytes=48000 live_blocks=0
// EXPECT stack function=malloc path=allocate<work allocations=480
// EXPECT totals.unknown_frees == 0
// EXPECT totals.double_frees == 0
// EXPECT totals.bad_frees == 0
#include "target.h"

#include <pthread.h>
enum { kThreads = 8, kRounds = 30 };
static void* passed[kThreads];
static pthread_barrier_t barrier;
NOINLINE void* allocate(size_t size) { return keep(malloc(size)); }
NOINLINE void* allocate_zeroed(void) { return keep(calloc(4, 10)); }
NOINLINE void* grow(void* block) { return keep(realloc(block, 200)); }
NOINLINE void work(int self) {
  for (int round = 0; round < kRounds; round++) {
    void* kept = allocate(100);
    void* grown = grow(allocate_zeroed());
    void* other = allocate(102);
    REQUIRE(kept && grown && other && kept != other && kept != grown);
    free(kept);
    free(grown);
    void* taken = __atomic_exchange_n(&passed[(self + 1) % kThreads], other, __ATOMIC_ACQ_REL);
    free(taken);
  }
}
static void* run(void* self) {
  pthread_barrier_wait(&barrier);
  work((int)(intptr_t)self);
  return NULL;
}
int main(void) {
  pthread_t threads[kThreads];
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (intptr_t i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], NULL, run, (void*)i) == 0);
  for (int i = 0; i < kThreads; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < kThreads; i++) free(passed[i]);
  say("done\n");
  return 0;
}
