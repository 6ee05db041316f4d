// Handlers interrupt the allocator and heaptap's hooks anywhere, and map and unmap memory there.
// EXPECT stack function=mmap caller=on_tick allocations=400 frees=400 live_bytes=0
// EXPECT totals.bad_frees == 0
// EXPECT totals.double_frees == 0
// RUN 20
// EXPECT stack function=malloc caller=churn frees>=20000 live_blocks=0
// RUN-LONG 100
// EXPECT stack function=malloc caller=churn frees>=100000 live_blocks=0
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
static volatile sig_atomic_t ticks;
NOINLINE void on_tick(int number) {
  (void)number;
  if (ticks >= 400) return;
  int saved = errno;
  void* start = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(start, PAGE);
  errno = saved;
  ticks = ticks + 1;
}
NOINLINE void churn(int depth) {
  char* blocks[50];
  for (int i = 0; i < 50; i++) blocks[i] = malloc(24);
  if (depth > 0) churn(depth - 1);
  for (int i = 0; i < 50; i++) free(blocks[i]);
}
int main(int count, char** arguments) {
  const int rounds = count > 1 ? atoi(arguments[1]) : 20;
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < rounds || ticks < 400; i++) churn(20);
  setitimer(ITIMER_REAL, &never, NULL);
  say("400 ticks\n");
  return 0;
}
