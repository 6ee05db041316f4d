// Four threads allocate, four others release: addresses are reused across threads all the time.
// LINK -pthread
// EXPECT stack function=malloc caller=produce allocations=200000 frees=200000 allocated_bytes=12800000 live_blocks=0 live_bytes=0 threads=4
// EXPECT totals.bad_frees == 0
// EXPECT totals.double_frees == 0
// EXPECT totals.unknown_frees == 0
#include "target.h"

#include <pthread.h>
#include <stdatomic.h>
enum { kPairs = 4, kEach = 50000, kSlots = 64 };
static _Atomic(void*) rings[kPairs][kSlots];
NOINLINE void produce(_Atomic(void*)* ring) {
  for (int i = 0; i < kEach; i++) {
    void* block = malloc(64);
    void* expected = NULL;
    while (!atomic_compare_exchange_weak(&ring[i % kSlots], &expected, block)) {
      expected = NULL;
      usleep(0);
    }
  }
}
NOINLINE void consume(_Atomic(void*)* ring) {
  for (int i = 0; i < kEach; i++) {
    void* block;
    while (!(block = atomic_exchange(&ring[i % kSlots], NULL))) usleep(0);
    free(block);
  }
}
static void* producer(void* ring) { return produce(ring), NULL; }
static void* consumer(void* ring) { return consume(ring), NULL; }
int main(void) {
  pthread_t ids[2 * kPairs];
  for (int i = 0; i < kPairs; i++) {
    REQUIRE(pthread_create(&ids[2 * i], NULL, producer, rings[i]) == 0);
    REQUIRE(pthread_create(&ids[2 * i + 1], NULL, consumer, rings[i]) == 0);
  }
  for (int i = 0; i < 2 * kPairs; i++) pthread_join(ids[i], NULL);
  say("done\n");
  return 0;
}
