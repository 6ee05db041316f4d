// A block that only the stack of a thread points to that has ended; the library keeps the stack for the next thread.
// LINK -pthread
// RUN joined
// RUN detached
#define _GNU_SOURCE
#include "leak.h"

#include <pthread.h>
static void* thread(void* unused) {
  void* volatile locals[64];
  for (int i = 0; i < 64; i++) locals[i] = NULL;
  locals[20] = malloc(32);  // LEAK definite 1 32
  return unused;
}
static int is_over(pid_t id) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d", id);
  return access(path, F_OK) != 0;
}
static volatile pid_t kernel_id;
static void* detached(void* unused) {
  thread(unused);
  kernel_id = gettid();
  return unused;
}
int main(int count, char** arguments) {
  pthread_t id;
  int detaches = said(arguments, "detached");
  REQUIRE(pthread_create(&id, NULL, detaches ? detached : thread, NULL) == 0);
  if (detaches) {
    REQUIRE(pthread_detach(id) == 0);
    while (!kernel_id || !is_over(kernel_id)) sched_yield();
  } else {
    pthread_join(id, NULL);
  }
  forget_registers();
  return 0;
}
