// Handlers of pthread_atfork that allocate: those before and in the parent count, those in the child don't.
// LINK -pthread
// EXPECT stack function=malloc caller=prepare allocations=10 frees=10
// EXPECT stack function=malloc caller=in_parent allocations=10 frees=10
// EXPECT stack function=malloc caller=in_child allocations=0
#include "target.h"

#include <pthread.h>
#include <sys/wait.h>
NOINLINE void prepare(void) { free(keep(malloc(10))); }
NOINLINE void in_parent(void) { free(keep(malloc(20))); }
NOINLINE void in_child(void) { free(keep(malloc(30))); }
int main(void) {
  pthread_atfork(prepare, in_parent, in_child);
  for (int i = 0; i < 10; i++) {
    pid_t child = fork();
    if (child == 0) _exit(i);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == i);
  }
  say("done\n");
  return 0;
}
