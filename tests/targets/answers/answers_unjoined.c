// Threads that end: "left" joins none of them, "joined" all, "detached" has them detached.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { kThreads = 5, kStackBytes = 1 << 20 };
static _Atomic int numbers[kThreads];
static void* work(void* number) {
  free(malloc(10));
  *(_Atomic int*)number = gettid();
  return NULL;
}
int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "left";
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  if (strcmp(how, "detached") == 0) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], &attributes, work, &numbers[i]);
  for (int i = 0; i < kThreads; i++) {
    if (strcmp(how, "joined") == 0) pthread_join(threads[i], NULL);
    while (numbers[i] == 0 || tgkill(getpid(), numbers[i], 0) == 0) sched_yield();
  }
  return 0;
}
