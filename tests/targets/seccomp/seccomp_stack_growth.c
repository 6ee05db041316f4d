// A thread's stack grows by more than 256 KiB between two events, where the kernel can't be asked whether it is mapped.
// RUN strict
// RUN filter
// EXPECT stack function=malloc through=far_below allocations=1 frees=1
#include "seccomp_filters.h"

#include <pthread.h>
NOINLINE void far_below(int depth) {
  volatile char large[100000];
  large[0] = large[sizeof large - 1] = (char)depth;
  if (depth > 1) {
    far_below(depth - 1);
  } else {
    free(keep(malloc(40)));
  }
  large[1] = large[0];
}
static int g_strict;
static void* run(void* argument) {
  free(keep(malloc(30)));
  if (g_strict) {
    enter_strict_mode();
  } else {
    install_filter(SECCOMP_RET_KILL_PROCESS);
  }
  far_below(20);
  say("thread is still there\n");
  end_thread(0);
  return argument;
}
int main(int count, char** arguments) {
  (void)count;
  g_strict = strcmp(arguments[1], "strict") == 0;
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, run, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  say("end\n");
  return 0;
}
