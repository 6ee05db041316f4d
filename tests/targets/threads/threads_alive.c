// Threads that all live at the same time, more than the log has room for at first: the events of each are recorded.
// TRACE threads
// RUN 4200 40
// EXPECT stack function=malloc caller=allocate allocations=168000 frees=168000
// RUN-LONG 16000 400
// EXPECT stack function=malloc caller=allocate allocations=6400000 frees=6400000
#define _GNU_SOURCE
#include "target.h"

#include <limits.h>
#include <pthread.h>
#include <time.h>
static pthread_barrier_t g_all_are_there;
static int g_rounds;
NOINLINE void allocate(void) {
  for (int i = 0; i < g_rounds / 2; i++) free(keep(malloc((size_t)(i % 500))));
}
static void* run(void* argument) {
  allocate();
  pthread_barrier_wait(&g_all_are_there);
  allocate();
  return argument;
}
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}
int main(int count, char** arguments) {
  REQUIRE(count >= 3);
  const int threads = atoi(arguments[1]);
  g_rounds = atoi(arguments[2]);
  pthread_t* made = keep(calloc((size_t)threads, sizeof(pthread_t)));
  pthread_attr_t small;
  pthread_attr_init(&small);
  REQUIRE(pthread_attr_setstacksize(&small, 65536) == 0);
  REQUIRE(pthread_barrier_init(&g_all_are_there, NULL, (unsigned)threads + 1) == 0);
  const double before = now();
  for (int i = 0; i < threads; i++) REQUIRE(pthread_create(&made[i], &small, run, NULL) == 0);
  pthread_barrier_wait(&g_all_are_there);
  if (count > 3) say("all are there after %.3f s\n", now() - before);
  for (int i = 0; i < threads; i++) REQUIRE(pthread_join(made[i], NULL) == 0);
  free(made);
  say("done\n");
  return 0;
}
