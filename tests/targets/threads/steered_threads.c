// Eight threads that allocate and release a few blocks each millisecond, until a line comes on the standard input; each line "pause" stops them
// until the next one. At the end all is released but one block, which a global variable holds.
// LINK -pthread
// EXPECT totals.bad_frees == 0
// EXPECT totals.double_frees == 0
// EXPECT stack caller=main function=malloc allocations=1 live_bytes=1234
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kThreads = 8, kRing = 64, kBurst = 8 };

static atomic_int g_state;  // 0: work, 1: pause, 2: end
static atomic_int g_paused;
static void* volatile g_held;

static void* work(void* argument) {
  void* ring[kRing] = {0};
  unsigned seed = (unsigned)(size_t)argument * 2654435761u + 1;
  for (unsigned i = 0; atomic_load(&g_state) != 2; ++i) {
    if (atomic_load(&g_state) == 1) {
      atomic_fetch_add(&g_paused, 1);
      while (atomic_load(&g_state) == 1) nanosleep(&(struct timespec){0, 1000000}, NULL);
      atomic_fetch_sub(&g_paused, 1);
    }
    if (i % kBurst == 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
    seed = seed * 1664525u + 1013904223u;
    free(ring[i % kRing]);
    ring[i % kRing] = malloc(1 + seed % 500);
  }
  for (int i = 0; i < kRing; ++i) free(ring[i]);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  char line[64];
  g_held = malloc(1234);
  for (size_t i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, work, (void*)i) != 0) return 1;
  }
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "end\n") != 0) {
    const int pauses = strcmp(line, "pause\n") == 0;
    atomic_store(&g_state, pauses);
    while (atomic_load(&g_paused) != (pauses ? kThreads : 0)) sched_yield();
    puts("done");
    fflush(stdout);
  }
  atomic_store(&g_state, 2);
  for (size_t i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}
