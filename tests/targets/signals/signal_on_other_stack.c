// A handler on an alternate stack: its stack leads over to the interrupted thread's stack and on to main.
// COMPILE -O2 -fomit-frame-pointer
// EXPECT stack function=malloc path=in_handler<on_signal through=interrupted allocations=100 allocated_bytes=1000
// EXPECT stack function=malloc path=in_handler<on_signal through=main allocations=100
#include "target.h"

#include <signal.h>
static char area[65536];
NOINLINE void in_handler(void) { keep(malloc(10)); }
NOINLINE void on_signal(int number) {
  in_handler();
  keep(&number);
}
NOINLINE int interrupted(int number) {
  raise(number);
  keep(&number);
  return number;
}
int main(void) {
  stack_t stack = {.ss_sp = area, .ss_size = sizeof area};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 100; i++) REQUIRE(interrupted(SIGUSR1));
  return 0;
}
