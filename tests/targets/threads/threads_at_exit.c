// The program ends while its threads are still allocating.
// LINK -pthread
// EXPECT exit 5
// EXPECT stack function=malloc caller=last_word allocations=1 allocated_bytes=77
// RUN once
// RUN again
// RUN and again
// RUN since it matters where
// RUN the threads are killed
#include "target.h"

#include <pthread.h>
static volatile int running;
static void* churn(void* unused) {
  (void)unused;
  __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
  for (;;) free(keep(malloc(64)));
}
NOINLINE void last_word(void) { keep(malloc(77)); }
int main(void) {
  pthread_t ids[4];
  for (int i = 0; i < 4; i++) REQUIRE(pthread_create(&ids[i], NULL, churn, NULL) == 0);
  while (running < 4) usleep(1000);
  last_word();
  exit(5);
}
