// The program ends at any moment of another thread's making of threads: nothing is called lost by that.
// LINK -pthread
// REPEAT 20
// CLEAN
#include "leak.h"

#include <pthread.h>
#include <time.h>
static void* short_thread(void* block) {
  free(block);
  return NULL;
}
static void* maker(void* unused) {
  for (int round = 0;; round++) {
    pthread_t id;
    void* volatile block = malloc(64);
    if (pthread_create(&id, NULL, short_thread, block) != 0) {
      free(block);
      continue;
    }
    block = NULL;
    if (round % 2) {
      pthread_detach(id);
    } else {
      pthread_join(id, NULL);
    }
    if (round == 3) set_ready();
  }
  return unused;
}
int main(void) {
  pthread_t id;
  struct timespec now;
  REQUIRE(pthread_create(&id, NULL, maker, NULL) == 0);
  await_ready(1);
  clock_gettime(CLOCK_MONOTONIC, &now);
  for (volatile long i = now.tv_nsec % 300000; i > 0; i--) {
  }
  return 0;
}
