// A timer's handler jumps out of mmap and munmap, so out of heaptap's hooks; later calls are still counted. The timer is of the
// process's own time: on a busy machine another one would be over at each of its turns, and no event would come to its end.
// EXPECT stack function=malloc caller=afterwards allocations=100 frees=0 allocated_bytes=1000
// RUN 60
// RUN-LONG 300
#define _GNU_SOURCE
#include "target.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
static sigjmp_buf target;
static volatile sig_atomic_t armed;
static void on_tick(int number) {
  (void)number;
  if (armed) siglongjmp(target, 1);
}
NOINLINE void map_forever(void) {
  for (;;) munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
}
NOINLINE void afterwards(void) {
  for (int i = 0; i < 100; i++) keep(malloc(10));
}
int main(int count, char** arguments) {
  const int rounds = count > 1 ? atoi(arguments[1]) : 60;
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = 0};
  sigaction(SIGPROF, &action, NULL);
  struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
  for (volatile int i = 0; i < rounds; i++) {
    if (sigsetjmp(target, 1) == 0) {
      armed = 1;
      setitimer(ITIMER_PROF, &often, NULL);
      map_forever();
    }
    armed = 0;
  }
  setitimer(ITIMER_PROF, &never, NULL);
  afterwards();
  say("done\n");
  return 0;
}
