// Threads that write faster than heaptap reads, into a small log, while a timer's signals cut their waits short: nothing is lost.
// With an argument: so many pairs each.
// OPTIONS --log-memory 512K
// EXPECT stack function=malloc caller=allocate allocations=2000000 frees=2000000
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
enum { kThreads = 10 };
static int g_pairs = 200000;  // of each thread
static void on_timer(int number) { (void)number; }
NOINLINE void allocate(void) {
  for (int i = 0; i < g_pairs; i++) free(keep(malloc((size_t)(i % 100))));
}
static void* run(void* argument) {
  allocate();
  return argument;
}
int main(int count, char** arguments) {
  if (count > 1) g_pairs = atoi(arguments[1]);
  struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
  REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
  const struct itimerval often = {{0, 1000}, {0, 1000}};
  REQUIRE(setitimer(ITIMER_REAL, &often, NULL) == 0);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], NULL, run, NULL) == 0);
  for (int i = 0; i < kThreads; i++) {
    int result;
    while ((result = pthread_join(threads[i], NULL)) == EINTR) continue;
    REQUIRE(result == 0);
  }
  say("done\n");
  return 0;
}
