// A program that traces a child of its own, as debuggers do: the child asks for it, after a fork or in its parent's memory.
// TRACE any
// EXPECT exit 0
// EXPECT stack function=malloc caller=before allocations=10
// RUN fork
// RUN vfork
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
NOINLINE void before(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(50)));
}
int main(int count, char** arguments) {
  before();
  const pid_t child = count > 1 && strcmp(arguments[1], "vfork") == 0 ? vfork() : fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(90);
    signal(SIGUSR1, SIG_IGN);
    execl("/bin/true", "true", (char*)NULL);
    _exit(91);
  }
  int status = 0;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
  say("it stopped: %d\n", WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
  if (WIFSTOPPED(status)) REQUIRE(ptrace(PTRACE_CONT, child, 0, 0) == 0 && waitpid(child, &status, 0) == child);
  say("it ended: %x\n", status);
  return 0;
}
