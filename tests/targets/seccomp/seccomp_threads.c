// Threads that are made behind a filter, more than there is room for without a system call at first: each one's events are
// recorded, and nothing is asked of the kernel for them.
// EXPECT exit 4
// EXPECT stack function=malloc caller=allocate allocations=20000 frees=20000
#define _GNU_SOURCE
#include "seccomp_filters.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
enum { kThreads = 200 };
NOINLINE void allocate(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(100)));
}
static void* thread_main(void* argument) {
  (void)argument;
  allocate();
  return NULL;
}
static void install_thread_filter(void) {
  struct sock_filter code[] =
      FILTER(SECCOMP_RET_KILL_PROCESS, ALLOW(mmap), ALLOW(munmap), ALLOW(mprotect), ALLOW(madvise), ALLOW(futex),
             ALLOW(clone), ALLOW(clone3), ALLOW(rseq), ALLOW(set_robust_list), ALLOW(rt_sigprocmask),
             ALLOW(rt_sigaction), ALLOW(gettid), ALLOW(getpid), ALLOW(sched_getparam), ALLOW(getrandom));
  install(code, sizeof code, 0);
}
int main(void) {
  install_thread_filter();
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) {
    REQUIRE(pthread_create(&threads[i], NULL, thread_main, NULL) == 0);
    REQUIRE(pthread_join(threads[i], NULL) == 0);
  }
  say("still there\n");
  return 4;
}
