// As leak_last_before_top, in the arenas of threads: of those that live and of those that have ended.
// LINK -pthread
// RUN alive
// RUN ended
#include "leak.h"

#include <pthread.h>
#define THREADS 4
static char** words;
static void lose(void) {
  keep(malloc(4120));  // LEAK definite 4 16480
}
static void* thread(void* unused) {
  far_below(lose);
  forget_registers();
  set_ready();
  if (said(words, "alive")) wait_for_ever();
  while (leak_ready < THREADS) sched_yield();  // so that each has its own arena
  return unused;
}
int main(int count, char** arguments) {
  pthread_t ids[THREADS];
  words = arguments;
  for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&ids[i], NULL, thread, NULL) == 0);
  await_ready(THREADS);
  for (int i = 0; i < THREADS && said(arguments, "ended"); i++) pthread_join(ids[i], NULL);
  forget_registers();
  return 0;
}
