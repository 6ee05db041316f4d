// Five hundred threads that live at the same time, each with memory of its own.
// LINK -pthread
// EXPECT stack function=malloc caller=allocate allocations=5000 frees=4500 allocated_bytes=500000 live_bytes=50000 threads=500
#include "target.h"

#include <pthread.h>
static pthread_barrier_t all_there;
NOINLINE void allocate(void) {
  for (int i = 0; i < 10; i++) {
    void* block = keep(malloc(100));
    if (i) free(block);
    if (i == 5) pthread_barrier_wait(&all_there);
  }
}
static void* thread(void* unused) {
  allocate();
  return unused;
}
int main(void) {
  pthread_t ids[500];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  pthread_barrier_init(&all_there, NULL, 500);
  for (int i = 0; i < 500; i++) REQUIRE(pthread_create(&ids[i], &attributes, thread, NULL) == 0);
  for (int i = 0; i < 500; i++) pthread_join(ids[i], NULL);
  say("done\n");
  return 0;
}
