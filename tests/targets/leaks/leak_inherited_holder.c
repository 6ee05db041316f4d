// A forked child's block that only a block holds which the child has from its parent, and one that nothing holds. What is
// found in the child's own trace: forked_leaks_test.py
#include "leak.h"

#include <sys/wait.h>
struct holder {
  long before[20];
  void* block;
};
static struct holder* volatile holder;
static void hold_one_and_lose_one(void) {
  holder->block = malloc(32);
  keep(malloc(33));
}
int main(void) {
  int status;
  free(malloc(32));
  holder = malloc(sizeof *holder);  // LEAK reachable 1 168
  pid_t child = fork();
  if (child == 0) {
    far_below(hold_one_and_lose_one);
    exit(0);
  }
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  return 0;
}
