// Forks by system call, past the C library: the child's calls are not the parent's.
// EXPECT stack function=malloc caller=in_child allocations=0
// EXPECT stack function=malloc caller=in_parent allocations=20 frees=20
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
NOINLINE void in_child(void) {
  for (int i = 0; i < 1000; i++) free(keep(malloc(10)));
}
NOINLINE void in_parent(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(10)));
}
static void collect(long child) {
  int status;
  REQUIRE(waitpid((pid_t)child, &status, 0) == child);
  say("child ended with %d\n", status);
  in_parent();
}
int main(void) {
#ifdef SYS_fork
  long child = syscall(SYS_fork);
#else  // what fork is made of there
  long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
#endif
  if (child == 0) {
    in_child();
    _exit(0);
  }
  collect(child);
  child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) {
    in_child();
    _exit(0);
  }
  collect(child);
  return 0;
}
