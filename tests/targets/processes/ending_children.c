// Children end as they would by themselves: ones that share the parent's memory, that execute, that die of signals.
// RUN
// RUN vfork
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
extern char** environ;
static void show(const char* what, int child) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  REQUIRE(waitid(P_PID, (id_t)child, &info, WEXITED) == 0);
  say("%s: code %d status %d\n", what, info.si_code, info.si_status);
}
static void vforked(void) {
  for (int i = 0; i < 3; i++) {
    int child = vfork();
    if (child == 0) _exit(5);
    show("vfork and _exit", child);
  }
  int child = vfork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "kill -TERM $$", (char*)NULL);
    _exit(6);
  }
  show("vfork and exec", child);
  child = vfork();
  if (child == 0) kill(getpid(), SIGTERM);
  show("vfork and signal", child);
  child = vfork();
  if (child == 0) {
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
  }
  show("vfork and signal", child);
}
int main(int count, char** arguments) {
  (void)arguments;
  keep(malloc(100));
  struct rlimit none = {0, 0};
  REQUIRE(setrlimit(RLIMIT_CORE, &none) == 0);
  if (count > 1) vforked();
  for (int number = 1; number <= 64; number++) {
    if (number == 32 || number == 33) continue;
    int child = fork();
    if (child == 0) {
      kill(getpid(), number);
      _exit(7);
    }
    if (number >= SIGSTOP && number <= SIGTTOU && number != SIGCONT) {
      if (number == SIGSTOP || number > SIGCONT) {
        waitid(P_PID, (id_t)child, &(siginfo_t){0}, WSTOPPED | WEXITED | WNOWAIT);
        kill(child, SIGCONT);
      }
    }
    show("signal", child);
  }
  for (int way = 0; way < 4; way++) {
    int child = fork();
    if (child == 0 && way == 0) abort();
    if (child == 0 && way == 1) *(volatile int*)8 = 1;
    if (child == 0 && way == 2) __builtin_trap();
    if (child == 0 && way == 3) BREAKPOINT();
    show("fault", child);
  }
  char* command[] = {"sh", "-c", "kill -INT $$", NULL};
  pid_t child;
  REQUIRE(posix_spawn(&child, "/bin/sh", NULL, NULL, command, environ) == 0);
  show("spawned", child);
  return 0;
}
