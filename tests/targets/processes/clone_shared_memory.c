// A child of clone(CLONE_VM | CLONE_VFORK) allocates in the memory that it shares with its parent, which releases it.
// EXPECT stack function=malloc caller=in_child allocations=10 frees=10 allocated_bytes=500 live_blocks=0
// EXPECT stack function=malloc caller=in_parent allocations=10 frees=10
#define _GNU_SOURCE
#include "target.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
static void* volatile handed;
static char stack[65536] __attribute__((aligned(16)));
NOINLINE int in_child(void* unused) {
  (void)unused;
  handed = malloc(50);
  return 0;
}
NOINLINE void in_parent(void) { free(keep(malloc(20))); }
int main(void) {
  for (int i = 0; i < 10; i++) {
    pid_t child = clone(in_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    REQUIRE(child > 0);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    REQUIRE(handed);
    free(handed);
    in_parent();
  }
  say("done\n");
  return 0;
}
