// A profiling timer's handler allocates while the program computes.
// EXPECT stack function=malloc caller=on_tick allocations=200 frees=100 allocated_bytes=6400 live_blocks=100
#include "target.h"

#include <signal.h>
#include <sys/time.h>
static volatile sig_atomic_t ticks;
NOINLINE void on_tick(int number) {
  (void)number;
  if (ticks >= 200) return;
  void* block = keep(malloc(32));
  if (ticks % 2) free(block);
  ticks = ticks + 1;
}
int main(void) {
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  volatile unsigned long sum = 0;
  while (ticks < 200) sum = sum * 31 + 7;
  setitimer(ITIMER_REAL, &never, NULL);
  say("200 ticks\n");
  return 0;
}
