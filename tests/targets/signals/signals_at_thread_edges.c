// Threads begin and end while a timer's signals hit them; the handler maps memory and has a frame on whatever stack.
// LINK -pthread
// EXPECT stack function=malloc caller=work allocations=20000 frees=20000
// EXPECT totals.bad_frees == 0
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
static void on_tick(int number) {
  (void)number;
  int saved = errno;
  munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
  errno = saved;
}
NOINLINE void* work(void* unused) {
  for (int i = 0; i < 10; i++) free(keep(malloc((size_t)i)));
  return unused;
}
int main(void) {
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 1000; i++) {
    pthread_t ids[2];
    for (int j = 0; j < 2; j++) REQUIRE(pthread_create(&ids[j], NULL, work, NULL) == 0);
    for (int j = 0; j < 2; j++) pthread_join(ids[j], NULL);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  say("done\n");
  return 0;
}
