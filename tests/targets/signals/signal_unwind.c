// A handler runs wherever a timer interrupts the program's own code, in prologues and epilogues too: each stack leads
// through the interrupted function to main.
// COMPILE -O2 -fomit-frame-pointer
// EXPECT stack function=mmap caller=on_tick allocations=1000 frees=1000 live_bytes=0
// EXPECT stack function=mmap caller=on_tick through=main allocations=1000
// EXPECT stack function=mmap caller=on_tick through=compute allocations=1000
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
static volatile sig_atomic_t computes, ticks;
NOINLINE void on_tick(int number) {
  (void)number;
  if (!computes || ticks >= 1000) return;  // a machine under load may tick before setitimer has returned
  void* start = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(start, PAGE);
  ticks = ticks + 1;
}
NOINLINE unsigned long fibonacci(unsigned number, unsigned long first, unsigned long second) {
  if (number < 2) return first ^ second;
  unsigned long left = fibonacci(number - 1, first + 3, second);
  unsigned long right = fibonacci(number - 2, second, first * 5);
  return left * 31 + right + first + second;
}
NOINLINE unsigned long compute(void) {
  unsigned long sum = 0;
  computes = 1;
  while (ticks < 1000) sum += fibonacci(12, sum, 7);
  return sum;
}
int main(void) {
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  unsigned long sum = compute();
  setitimer(ITIMER_REAL, &never, NULL);
  keep(&sum);
  say("1000 ticks\n");
  return 0;
}
