// A program and a thread that block every signal.
// LINK -pthread
// EXPECT stack function=malloc caller=allocate allocations=2000 frees=2000
#include "target.h"

#include <pthread.h>
#include <signal.h>
NOINLINE void allocate(void) {
  for (int i = 0; i < 1000; i++) free(keep(malloc(64)));
}
static void* thread(void* unused) {
  allocate();
  return unused;
}
int main(void) {
  sigset_t all, now;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  pthread_t id;
  REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
  allocate();
  pthread_join(id, NULL);
  raise(SIGTERM);
  sigprocmask(SIG_SETMASK, NULL, &now);
  int blocked = 0;
  for (int i = 1; i < 65; i++) blocked += sigismember(&now, i) == 1;
  sigpending(&now);
  say("%d blocked, SIGTERM pending %d\n", blocked, sigismember(&now, SIGTERM));
  return 0;
}
