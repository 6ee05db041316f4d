// A program with running threads forks; the child allocates and ends normally, and is not part of the parent's numbers.
// LINK -pthread
// EXPECT exit 0
// EXPECT stack function=malloc caller=in_parent allocations=100 frees=100
// EXPECT stack function=malloc caller=in_child allocations=0
// EXPECT stack function=malloc caller=before_fork allocations=1 frees=1
#include "target.h"

#include <pthread.h>
#include <sys/wait.h>
static volatile int stop;
static void* churn(void* unused) {
  while (!stop) free(keep(malloc(64)));
  return unused;
}
NOINLINE void in_parent(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(10)));
}
NOINLINE void in_child(void) {
  for (int i = 0; i < 1000; i++) free(keep(malloc(10)));
}
NOINLINE void* before_fork(void) { return malloc(33); }
int main(void) {
  pthread_t ids[3];
  void* block = before_fork();
  for (int i = 0; i < 3; i++) pthread_create(&ids[i], NULL, churn, NULL);
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      in_child();
      free(block);
      say("child %d\n", i);
      exit(i);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    say("child ended with %d\n", WEXITSTATUS(status));
  }
  in_parent();
  stop = 1;
  for (int i = 0; i < 3; i++) pthread_join(ids[i], NULL);
  free(block);
  return 0;
}
