// A program that has no children finds none, whichever way it looks for them; what its children used is nothing.
// EXPECT stack function=malloc caller=work allocations=100 frees=100
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
static volatile sig_atomic_t signals;
static void count(int number) { signals++; }
NOINLINE void work(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(10)));
}
static void look(void) {
  int status = 0;
  siginfo_t facts = {0};
  say("wait %d, %s\n", wait(&status), strerrorname_np(errno));
  say("waitpid %d, %s\n", waitpid(-1, &status, WNOHANG), strerrorname_np(errno));
  say("waitid %d, %s\n", waitid(P_ALL, 0, &facts, WEXITED | WSTOPPED | WNOHANG), strerrorname_np(errno));
  struct rusage used;
  REQUIRE(getrusage(RUSAGE_CHILDREN, &used) == 0);
  say("used %ld %ld %ld\n", (long)used.ru_utime.tv_usec, (long)used.ru_stime.tv_usec, used.ru_maxrss);
  sigset_t pending, blocked;
  REQUIRE(sigpending(&pending) == 0 && sigprocmask(SIG_SETMASK, NULL, &blocked) == 0);
  say("SIGCHLD came %d times, pending %d, blocked %d\n", (int)signals, sigismember(&pending, SIGCHLD),
      sigismember(&blocked, SIGCHLD));
}
int main(void) {
  struct sigaction before;
  REQUIRE(sigaction(SIGCHLD, NULL, &before) == 0);
  say("SIGCHLD was at its default: %d\n", before.sa_handler == SIG_DFL);
  signal(SIGCHLD, count);
  look();
  work();
  look();
  // One of its own comes with all that belongs to it.
  if (fork() == 0) _exit(7);
  int status = 0;
  while (wait(&status) < 0 && errno == EINTR) {
  }
  say("its own ended with %d, SIGCHLD came %d times\n", WEXITSTATUS(status), (int)signals);
  return 0;
}
