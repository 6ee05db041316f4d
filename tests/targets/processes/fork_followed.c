// With --follow-fork the children have traces of their own, and the parent's trace is as before.
// OPTIONS --follow-fork
// EXPECT stack function=malloc caller=in_parent allocations=10 frees=10
// EXPECT stack function=malloc caller=in_child allocations=0
#define _GNU_SOURCE
#include "target.h"

#include <sys/wait.h>
NOINLINE void in_parent(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(10)));
}
NOINLINE void in_child(void) {
  for (int i = 0; i < 1000; i++) free(keep(malloc(10)));
}
int main(void) {
  for (int i = 0; i < 3; i++) {
    pid_t child = fork();
    if (child == 0) {
      in_child();
      say("child %d\n", i);
      return i;
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    say("child ended with %d\n", WEXITSTATUS(status));
  }
  in_parent();
  return 0;
}
