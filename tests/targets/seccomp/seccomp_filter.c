// A filter that kills the process at any system call which its own code doesn't need.
// EXPECT exit 4
// EXPECT stack function=malloc caller=allocate allocations=300000 frees=300000
#include "seccomp_filters.h"

NOINLINE void allocate(int depth) {
  for (int i = 0; i < 10000; i++) free(keep(malloc((size_t)(i * 16))));
  if (depth > 1) allocate(depth - 1);
}
int main(void) {
  free(malloc(1));
  struct sock_filter code[] = FILTER(SECCOMP_RET_KILL_PROCESS, ALLOW(mmap), ALLOW(munmap), ALLOW(mremap),
                                     ALLOW(mprotect), ALLOW(madvise), ALLOW(rt_sigreturn), ALLOW(futex));
  install(code, sizeof code, 1);
  allocate(30);
  say("still there\n");
  return 4;
}
