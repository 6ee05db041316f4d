// A handler of abort has another process attach to this one, as crash reporters do: it names that one (Yama), or just makes it. It
// finds the program traced by nobody, and reads what is there.
// TRACE any
// EXPECT signal SIGABRT
// EXPECT stack function=malloc caller=work allocations=20
// RUN names
// RUN forks
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
static int names;
static volatile long word = 4711;

static void report(pid_t process) {
  int status = 0;
  if (ptrace(PTRACE_ATTACH, process, 0, 0) != 0) {
    say("reporter: can't attach: errno %d\n", errno);
    return;
  }
  REQUIRE(waitpid(process, &status, __WALL) == process);
  say("reporter: read %ld\n", ptrace(PTRACE_PEEKDATA, process, &word, 0));
  REQUIRE(ptrace(PTRACE_DETACH, process, 0, 0) == 0);
}
static void on_abort(int number) {
  int ends[2];
  const pid_t process = getpid();
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(ends[1]);
    (void)!read(ends[0], &byte, 1);
    report(process);
    _exit(0);
  }
  if (names) (void)prctl(PR_SET_PTRACER, child, 0, 0, 0);
  close(ends[1]);
  REQUIRE(waitpid(child, NULL, 0) == child);
  signal(number, SIG_DFL);
  raise(number);
}
NOINLINE void work(void) {
  for (int i = 0; i < 20; i++) keep(malloc(100));
}
int main(int count, char** arguments) {
  names = count > 1 && strcmp(arguments[1], "names") == 0;
  signal(SIGABRT, on_abort);
  work();
  abort();
}
