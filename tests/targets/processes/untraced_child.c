// A child that its maker asks not to be traced (CLONE_UNTRACED), as crash reporters and leak checkers make them: with a copy of
// the memory, and in the same memory.
// RUN copy
// RUN shared
// EXPECT exit 0
// EXPECT stack function=malloc caller=in_parent allocations=10 frees=10
#define _GNU_SOURCE
#include "target.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
static char stack[65536] __attribute__((aligned(16)));
NOINLINE int in_child(void* unused) {
  (void)unused;
  for (int i = 0; i < 10; i++) free(keep(malloc(50)));
  return 7;
}
NOINLINE void in_parent(void) { free(keep(malloc(20))); }
int main(int count, char** arguments) {
  int shares = count > 1 && !strcmp(arguments[1], "shared") ? CLONE_VM : 0;
  for (int i = 0; i < 10; i++) {
    pid_t child = clone(in_child, stack + sizeof stack, shares | CLONE_UNTRACED | SIGCHLD, NULL);
    REQUIRE(child > 0);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    say("%x\n", status);
    in_parent();
  }
  return 0;
}
