// Destructors of thread-specific data allocate and release, in all rounds that the library gives them.
// LINK -pthread
// EXPECT stack function=malloc caller=destroy allocations=40 frees=40 allocated_bytes=2560
// EXPECT stack function=malloc caller=thread allocations=10 frees=10 live_blocks=0
#include "target.h"

#include <pthread.h>
static pthread_key_t key;
NOINLINE void destroy(void* value) {
  uintptr_t round = *(uintptr_t*)value;
  free(value);
  free(keep(malloc(64)));
  if (round < 3) {
    uintptr_t* next = calloc(1, sizeof *next);
    *next = round + 1;
    pthread_setspecific(key, next);
  }
}
NOINLINE void* thread(void* unused) {
  uintptr_t* value = malloc(sizeof *value);
  *value = 0;
  pthread_setspecific(key, value);
  return unused;
}
int main(void) {
  pthread_key_create(&key, destroy);
  for (int i = 0; i < 10; i++) {
    pthread_t id;
    REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
    pthread_join(id, NULL);
  }
  say("done\n");
  return 0;
}
