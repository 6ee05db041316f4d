// Four threads lose at one line, and pass blocks to each other that are held at the end.
// LINK -pthread
#include "leak.h"

#include <pthread.h>
static void* volatile slots[4];
static void* thread(void* number) {
  for (int i = 0; i < 25; i++) keep(malloc(32));    // LEAK definite 100 3200
  slots[((uintptr_t)number + 1) % 4] = malloc(33);  // LEAK reachable 4 132
  return NULL;
}
int main(void) {
  pthread_t ids[4];
  for (uintptr_t i = 0; i < 4; i++) REQUIRE(pthread_create(&ids[i], NULL, thread, (void*)i) == 0);
  for (int i = 0; i < 4; i++) pthread_join(ids[i], NULL);
  forget_registers();
  return 0;
}
