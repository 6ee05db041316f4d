// Leaves the network namespace and forks: the children are recorded. Arguments: what it does besides.
// OPTIONS -f
// EXPECT exit 6
// EXPECT stack function=malloc caller=in_parent allocations=100 frees=100
// RUN
// RUN closes
// RUN replaces
// RUN by-number
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
NOINLINE void in_parent(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(10)));
}
NOINLINE void in_child(void) {
  for (int i = 0; i < 1000; i++) free(keep(malloc(20)));
}
int main(int argc, char** argv) {
  const char* also = argc > 1 ? argv[1] : "";
  in_parent();
  int flags = CLONE_NEWNET | (getuid() != 0 ? CLONE_NEWUSER : 0);
  int left = strcmp(also, "by-number") == 0 ? (int)syscall(SYS_unshare, flags) : unshare(flags);
  if (left != 0) say("this machine makes no namespace\n");
  for (int number = 3; number < 256 && *also == 'c'; number++) close(number);
  int null = open("/dev/null", O_WRONLY);
  for (int number = 200; number < 208 && *also == 'r'; number++) dup2(null, number);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    in_child();
    _exit(6);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WEXITSTATUS(status);
}
