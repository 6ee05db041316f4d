// Threads with the smallest stack that the library allows, which allocate near its end.
// LINK -pthread
// EXPECT stack function=malloc caller=allocate allocations=200 frees=200
#include "target.h"

#include <limits.h>
#include <pthread.h>
NOINLINE void allocate(void) {
  volatile char frame[6000];
  frame[0] = 1;
  free(keep(malloc(16)));
}
static void* thread(void* unused) {
  allocate();
  return unused;
}
int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, 16384) == 0);
  for (int i = 0; i < 200; i++) {
    pthread_t id;
    REQUIRE(pthread_create(&id, &attributes, thread, NULL) == 0);
    pthread_join(id, NULL);
  }
  say("done\n");
  return 0;
}
