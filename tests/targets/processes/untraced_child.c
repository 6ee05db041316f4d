// A child that its maker asks not to be traced (CLONE_UNTRACED), as crash reporters and leak checkers make them: with a copy of
// the memory, and in the same memory; by clone, and by the number of clone or clone3.
// EXPECT exit 0
// EXPECT stack function=malloc caller=in_parent allocations=10 frees=10
// RUN copy
// RUN shared
// RUN number
// RUN clone3
#define _GNU_SOURCE
#include "target.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
static char stack[65536] __attribute__((aligned(16)));
NOINLINE int in_child(void* unused) {
  (void)unused;
  for (int i = 0; i < 10; i++) free(keep(malloc(50)));
  return 7;
}
static pid_t make(const char* way) {
  struct clone_args facts = {.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD};
  pid_t child = -1;
  if (strcmp(way, "number") == 0) child = syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, NULL, NULL, NULL, 0L);
  if (strcmp(way, "clone3") == 0) child = syscall(SYS_clone3, &facts, sizeof facts);
  if (child == 0) _exit(in_child(NULL));
  if (child > 0) return child;
  const int shares = strcmp(way, "shared") == 0 ? CLONE_VM : 0;
  return clone(in_child, stack + sizeof stack, shares | CLONE_UNTRACED | SIGCHLD, NULL);
}
NOINLINE void in_parent(void) { free(keep(malloc(20))); }
int main(int count, char** arguments) {
  for (int i = 0; i < 10; i++) {
    pid_t child = make(count > 1 ? arguments[1] : "copy");
    REQUIRE(child > 0);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    say("%x\n", status);
    in_parent();
  }
  return 0;
}
