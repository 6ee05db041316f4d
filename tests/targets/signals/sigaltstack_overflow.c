// The program overflows its stack, reports that on an alternate stack with an allocation, and ends in its own way.
// EXPECT exit 7
// EXPECT stack function=malloc caller=on_overflow allocations=1 allocated_bytes=64
#include "target.h"

#include <signal.h>
#include <sys/resource.h>
static char area[16384];
NOINLINE void on_overflow(int number) {
  (void)number;
  keep(malloc(64));
  say("stack overflow noticed\n");
  _exit(7);
}
NOINLINE int endless(int depth) {
  char frame[4096];
  keep(frame);
  int result = endless(depth + 1) + frame[depth % 4096];
  keep(&result);
  return result;
}
int main(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_STACK, &limit);
  limit.rlim_cur = 1 << 20;
  setrlimit(RLIMIT_STACK, &limit);
  stack_t stack = {.ss_sp = area, .ss_size = sizeof area};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  return endless(0);
}
