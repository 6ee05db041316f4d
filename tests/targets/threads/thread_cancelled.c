// Threads are cancelled while they wait, with cleanup handlers that release their memory.
// LINK -pthread
// EXPECT stack function=malloc caller=wait_for_ever allocations=20 frees=20 live_blocks=0
#include "target.h"

#include <pthread.h>
NOINLINE void* wait_for_ever(void* unused) {
  void* block = malloc(100);
  pthread_cleanup_push(free, block);
  for (;;) pause();
  pthread_cleanup_pop(1);
  return unused;
}
int main(void) {
  for (int i = 0; i < 20; i++) {
    pthread_t id;
    pthread_create(&id, NULL, wait_for_ever, NULL);
    pthread_cancel(id);
    void* result;
    pthread_join(id, &result);
    REQUIRE(result == PTHREAD_CANCELED);
  }
  say("done\n");
  return 0;
}
