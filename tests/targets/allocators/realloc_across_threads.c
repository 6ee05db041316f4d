// Two threads hand one set of blocks back and forth and resize them: each size counts once, in the right order.
// LINK -pthread
// EXPECT stack function=realloc caller=resize allocations=40000 frees=40000 live_blocks=0
// EXPECT totals.bad_frees == 0
// EXPECT totals.double_frees == 0
#include "target.h"

#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* blocks[16];
NOINLINE void resize(unsigned seed) {
  for (unsigned i = 0; i < 20000; i++) {
    seed = seed * 1103515245u + 12345u;
    pthread_mutex_lock(&lock);
    void** slot = &blocks[seed >> 16 & 15];
    *slot = realloc(*slot, 1 + (seed >> 20 & 1023));
    pthread_mutex_unlock(&lock);
  }
}
static void* thread(void* seed) { return resize((unsigned)(uintptr_t)seed), NULL; }
int main(void) {
  pthread_t first, second;
  pthread_create(&first, NULL, thread, (void*)1);
  pthread_create(&second, NULL, thread, (void*)2);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  for (int i = 0; i < 16; i++) free(blocks[i]);
  say("done\n");
  return 0;
}
