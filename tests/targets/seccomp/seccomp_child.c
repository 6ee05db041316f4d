// A forked child that isn't recorded goes into strict mode, or under a filter, before its first event, allocates, and ends as
// it does alone.
// RUN strict
// RUN filter
// RUN nested
#include "seccomp_filters.h"

#include <sys/wait.h>
int main(int count, char** arguments) {
  (void)count;
  free(keep(malloc(200000)));  // the heap has grown as far as it needs to
  const int strict = strcmp(arguments[1], "strict") == 0;
  if (strcmp(arguments[1], "nested") == 0 && fork() > 0) {
    wait(NULL);
    return 0;
  }
  const pid_t child = fork();
  if (child == 0) {
    if (strict) {
      REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    } else {
      install_filter(SECCOMP_RET_KILL_PROCESS);
    }
    for (int i = 0; i < 1000; i++) free(keep(malloc(10)));
    end_thread(7);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  say("child: %s %d\n", WIFEXITED(status) ? "ended with" : "was killed by",
      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  return 0;
}
