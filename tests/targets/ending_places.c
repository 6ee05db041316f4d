// Writes where main's frame lies into a file, and ends in one of several ways. For tests/unit/ending_test.cc.
// TRACE none
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
static int is(char** arguments, const char* name) { return !strcmp(arguments[1], name); }
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
  leave(arguments);
  return 3;
}
