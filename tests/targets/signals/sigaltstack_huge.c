// Tells of an alternate stack of 2^62 bytes, which the kernel accepts: all of memory above would be dead or a stack then.
// CLEAN
// EXPECT exit 3
// EXPECT stack function=malloc caller=main allocations=1 live_blocks=1
#define _GNU_SOURCE
#include "target.h"

#include <signal.h>
static char low[65536];
int main(void) {
  void* volatile block = malloc(100);
  stack_t stack = {.ss_sp = low, .ss_size = (size_t)1 << 62};
  REQUIRE(sigaltstack(&stack, NULL) == 0);
  exit(block != NULL ? 3 : 4);
}
