// Threads are in the loader, which holds its locks, while main forks. The child is recorded, and starts a thread, whose memory the
// loader allocates: it doesn't wait for a lock that nobody releases.
// LINK -pthread -ldl
// OPTIONS -f
// EXPECT stack function=malloc caller=in_child allocations=0
#define _GNU_SOURCE
#include "target.h"

#include <link.h>
#include <pthread.h>
#include <sys/wait.h>

static volatile int stop;
static int slow_visit(struct dl_phdr_info* info, size_t bytes, void* unused) {
  (void)info, (void)bytes, (void)unused;
  for (volatile int i = 0; i < 2000; i++) {
  }
  return 0;
}
static void* list(void* unused) {
  while (!stop) dl_iterate_phdr(slow_visit, NULL);
  return unused;
}
NOINLINE static void* in_child(void* unused) {
  free(keep(malloc(10)));
  return unused;
}
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, list, NULL);
  for (int i = 0; i < 10; i++) {
    int child = fork(), status = 0;
    if (child == 0) {
      pthread_t thread;
      alarm(20);  // one that hangs is seen
      REQUIRE(pthread_create(&thread, NULL, in_child, NULL) == 0);
      pthread_join(thread, NULL);
      _exit(3);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    if (status != 3 << 8) {
      say("status %x\n", status);
      return 1;
    }
  }
  stop = 1;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  return 0;
}
