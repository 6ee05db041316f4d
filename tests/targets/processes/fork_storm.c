// Forks while other threads are inside the allocator, heaptap's hooks and the loader.
// LINK -pthread
// EXPECT exit 0
// EXPECT totals.bad_frees == 0
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <sys/wait.h>
static volatile int stop;
static __attribute__((noinline)) void at_depth(int depth) {
  free(keep(malloc((size_t)depth * 8 + 8)));
  if (depth) at_depth(depth - 1);
}
static void* churn(void* unused) {
  while (!stop) at_depth(30);
  return unused;
}
int main(void) {
  pthread_t ids[3];
  for (int i = 0; i < 3; i++) pthread_create(&ids[i], NULL, churn, NULL);
  int good = 0;
  for (int i = 0; i < 200; i++) {
    pid_t child = fork();
    if (child == 0) {
      at_depth(40);
      _exit(11);
    }
    int status = 0;
    waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == 11;
  }
  stop = 1;
  for (int i = 0; i < 3; i++) pthread_join(ids[i], NULL);
  say("%d children ended well\n", good);
  return 0;
}
