// A child with threads that is stopped and goes on: its parent sees both, and no thread of it runs meanwhile.
// OPTIONS --follow-fork
// LINK -pthread
// EXPECT stack caller=in_parent allocations=1
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
static volatile long* shared;
NOINLINE static void in_parent(void) { keep(malloc(10)); }
static void* count(void* unused) {
  for (;;) {
    free(keep(malloc(20)));
    shared[0]++;
  }
  return unused;
}
static void run_child(void) {
  pthread_t id;
  REQUIRE(pthread_create(&id, NULL, count, NULL) == 0);
  while (shared[0] < 100) usleep(100);
  raise(SIGSTOP);
  long before = shared[0];
  while (shared[0] < before + 100 || !shared[1]) usleep(100);
  _exit(5);
}
int main(void) {
  shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  in_parent();
  pid_t child = fork();
  if (child == 0) run_child();
  int status = 0;
  REQUIRE(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
  long before = shared[0];
  usleep(20000);
  REQUIRE(shared[0] == before);
  REQUIRE(kill(child, SIGCONT) == 0);
  REQUIRE(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status));
  shared[1] = 1;
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
  say("done\n");
  return 0;
}
