// Writes where main's frame lies into a file, and ends in one of several ways. For tests/unit/exit_handshake_test.cc.
// TRACE none
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
static int is(char** arguments, const char* name) { return !strcmp(arguments[1], name); }
static char alternate[2][16384];
static char coroutine[16384];
static ucontext_t inside;
static ucontext_t outside;
static void run(int a, int b, int c) {
  REQUIRE(a == 1 && b == 2 && c == 3);
  swapcontext(&inside, &outside);
}
static void stacks(void) {
  for (int i = 0; i < 2; i++) {
    stack_t stack = {.ss_sp = alternate[i], .ss_size = sizeof alternate[i]};
    REQUIRE(sigaltstack(&stack, NULL) == 0);
  }
  for (int i = 0; i < 2; i++) {
    getcontext(&inside);
    inside.uc_stack = (stack_t){.ss_sp = coroutine, .ss_size = sizeof coroutine};
    makecontext(&inside, (void (*)(void))run, 3, 1, 2, 3);
    swapcontext(&outside, &inside);
  }
}
static void ticks(int number) { (void)number; }
NOINLINE static void leave(char** arguments) {
  if (is(arguments, "exit")) exit(3);
  if (is(arguments, "_exit")) _exit(3);
  if (is(arguments, "quick_exit")) quick_exit(3);
  if (is(arguments, "exit_group")) syscall(SYS_exit_group, 3);
  if (is(arguments, "term")) raise(SIGTERM);
  if (is(arguments, "abort")) abort();
  if (is(arguments, "fault")) *(volatile int*)8 = 1;
}
int main(int count, char** arguments) {
  REQUIRE(count > 2);
  keep(malloc(100));
  FILE* file = fopen(arguments[2], "w");
  REQUIRE(file);
  fprintf(file, "%lu %lu\n", (unsigned long)__builtin_frame_address(0), (unsigned long)getpid());
  fclose(file);
  if (is(arguments, "ticking")) {
    signal(SIGALRM, ticks);
    struct itimerval often = {{0, 700}, {0, 700}};
    setitimer(ITIMER_REAL, &often, NULL);
  }
  if (is(arguments, "stacks")) stacks();
  leave(arguments);
  return 3;
}
