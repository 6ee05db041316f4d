// Eight threads that take blocks from each other: half of all releases are another thread's.
// EXPECT stack caller=make allocations=800000 frees=800000 live_bytes=0 threads=8
// EXPECT stack caller=main function=malloc allocations=5 live_bytes=500
// EXPECT totals.bad_frees == 0
// EXPECT totals.double_frees == 0
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { kThreads = 8, kRounds = 100000, kSlots = 1024 };
static _Atomic(void*) slots[kSlots];

__attribute__((noinline)) static void* make(size_t size) {
  void* volatile block = malloc(size);
  return block;
}

static void* work(void* argument) {
  unsigned random = (unsigned)(size_t)argument * 2654435761u + 1;
  for (int i = 0; i < kRounds; ++i) {
    random = random * 1103515245u + 12345u;
    free(atomic_exchange(&slots[random >> 16 & (kSlots - 1)], make(random >> 20 & 255)));
  }
  return NULL;
}

int main(void) {
  void* volatile kept;
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kSlots; ++i) free(slots[i]);
  for (int i = 0; i < 5; ++i) kept = malloc(100);
  (void)kept;
  return 0;
}
