// vfork and exec of another program; the parent goes on as before.
// EXPECT stack function=malloc caller=in_parent allocations=50 frees=50
#define _GNU_SOURCE
#include "target.h"

#include <sys/wait.h>
NOINLINE void in_parent(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(10)));
}
int main(void) {
  for (int i = 0; i < 5; i++) {
    pid_t child = vfork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", "echo from the shell; exit 4", (char*)NULL);
      _exit(98);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    say("child ended with %d\n", WEXITSTATUS(status));
    in_parent();
  }
  return 0;
}
