// A program that has forked a child, which has ended, is scanned as any other.
#include "leak.h"

#include <sys/wait.h>
static void* volatile root;
NOINLINE static void lose(void) {
  root = malloc(30);  // LEAK reachable 1 30
  keep(malloc(31));   // LEAK definite 1 31
}
int main(void) {
  int status;
  lose();
  pid_t child = fork();
  if (child == 0) {
    keep(malloc(1000));
    exit(0);
  }
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  forget_registers();
  return 0;
}
