// A program that collects all its children with waitpid(-1) finds only its own, and SIGCHLD only for them.
// EXPECT stack function=malloc caller=on_child allocations=5 frees=5
#include "target.h"

#include <signal.h>
#include <sys/wait.h>
static volatile sig_atomic_t signals;
NOINLINE void on_child(int number) {
  (void)number;
  int saved = errno;
  free(keep(malloc(10)));
  signals = signals + 1;
  errno = saved;
}
int main(void) {
  errno = 0;
  int result = waitpid(-1, NULL, WNOHANG);
  say("at first: %d, errno %d\n", result, errno);
  struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
  sigaction(SIGCHLD, &action, NULL);
  for (int i = 0; i < 5; i++) {
    pid_t child = fork();
    if (child == 0) _exit(i);
    int status = 0;
    REQUIRE(waitpid(-1, &status, 0) == child);
    say("child exited %d\n", WEXITSTATUS(status));
    while (signals <= i) usleep(1000);
  }
  errno = 0;
  result = waitpid(-1, NULL, 0);
  say("at last: %d, errno %d, %d signals\n", result, errno, (int)signals);
  return 0;
}
