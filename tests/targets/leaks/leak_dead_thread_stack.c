// A thread waits near the top of its stack; below that the stack is full of a pointer to a block that is lost.
// LINK -pthread
// LEVELS -O2
#include "leak.h"

#include <pthread.h>
static void* volatile box;
NOINLINE static void litter(int depth) {
  void* volatile copies[64];
  for (int i = 0; i < 64; i++) copies[i] = box;
  if (depth > 0) litter(depth - 1);
  box = copies[3];
}
static void lose(void) {
  box = malloc(32);  // LEAK definite 1 32
  litter(50);
  box = NULL;
}
static void* thread(void* unused) {
  far_below(lose);
  forget_registers();
  set_ready();
  wait_for_ever();
  return unused;
}
int main(void) {
  pthread_t id;
  REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
  await_ready(1);
  return 0;
}
