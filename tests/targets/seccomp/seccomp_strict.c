// Strict mode: read, write and exit are all that is left. Recording needs no system call.
// EXPECT exit 0
// EXPECT stack function=malloc caller=allocate allocations=3000 frees=3000
#include "target.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
NOINLINE void allocate(void) {
  for (int i = 0; i < 1000; i++) free(keep(malloc((size_t)i)));
}
int main(void) {
  free(malloc(50000));  // the heap has grown as far as it needs to
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
  allocate();
  allocate();
  allocate();
  say("still there\n");
  syscall(SYS_exit, 0);
  return 1;
}
