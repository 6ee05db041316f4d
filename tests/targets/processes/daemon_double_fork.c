// A daemon: forks twice, the parents leave at once, the daemon goes on working.
// EXPECT stack function=malloc caller=in_parent allocations=10 frees=0
// EXPECT stack function=malloc caller=in_daemon allocations=0
#define _GNU_SOURCE
#include "target.h"

#include <sys/wait.h>
NOINLINE void in_parent(void) {
  for (int i = 0; i < 10; i++) keep(malloc(10));
}
NOINLINE void in_daemon(void) {
  for (int i = 0; i < 10000; i++) free(keep(malloc(10)));
}
int main(void) {
  in_parent();
  int alive[2];
  REQUIRE(pipe(alive) == 0);
  pid_t child = fork();
  if (child) return 0;
  setsid();
  if (fork()) _exit(0);
  close(alive[1]);  // the end of file comes when the first parent is gone
  char byte;
  REQUIRE(read(alive[0], &byte, 1) == 0);
  in_daemon();
  say("the daemon has done its work\n");
  return 0;
}
