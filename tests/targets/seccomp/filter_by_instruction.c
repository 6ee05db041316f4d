// A filter that the program installs by a system call instruction of its own, which nobody in the process sees: what is asked of
// the kernel afterwards, other than to read, to write, to get memory and to end, kills the program.
// NEEDS x86_64
// EXPECT exit 0
// RUN growth
// RUN initial
// RUN threads
// RUN later
// RUN later_thread
// RUN child
#include "seccomp_filters.h"

#include <pthread.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
static long own_call(long number, long a, long b, long c, long d, long e) {
  register long fourth asm("r10") = d;
  register long fifth asm("r8") = e;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
               : "rcx", "r11", "memory");
  return result;
}
static void install_by_instruction(void) {
  struct sock_filter code[] =
      FILTER(SECCOMP_RET_KILL_PROCESS, ALLOW(rt_sigreturn), ALLOW(mmap), ALLOW(munmap), ALLOW(mprotect));
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  REQUIRE(own_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(own_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0, 0) == 0);
}
NOINLINE void far_below(int depth) {
  volatile char large[100000];
  large[0] = large[sizeof large - 1] = (char)depth;
  if (depth > 1) {
    far_below(depth - 1);
  } else {
    for (int i = 0; i < 100; i++) free(keep(malloc(40)));
  }
  large[1] = large[0];
}
static void* run(void* argument) {
  free(keep(malloc(30)));
  install_by_instruction();
  far_below(20);
  say("thread is still there\n");
  own_call(SYS_exit, 0, 0, 0, 0, 0);
  return argument;
}
static int two_seconds;  // from main's begin on
// It is at work, and ends, when the filter has been there for a while.
static void wait_for_long(void) {
  uint64_t expirations;
  REQUIRE(read(two_seconds, &expirations, sizeof expirations) == sizeof expirations);
  for (int i = 0; i < 1000; i++) free(keep(malloc(50)));
}
// For this thread alone, which ends the process.
static void* run_for_long(void* argument) {
  free(keep(malloc(30)));
  install_by_instruction();
  wait_for_long();
  exit(0);
  return argument;
}
// Threads whose first events come behind a filter, as one that holds for all threads may.
static int ready[2], begun[2];
static void* wait_and_run(void* argument) {
  char byte;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  install_by_instruction();
  for (int i = 0; i < 100; i++) free(keep(malloc(50)));
  far_below(10);
  REQUIRE(write(begun[1], &byte, 1) == 1);
  own_call(SYS_exit, 0, 0, 0, 0, 0);
  return argument;
}
int main(int count, char** arguments) {
  free(keep(malloc(200000)));  // the heap has grown as far as it needs to
  REQUIRE((two_seconds = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0);
  REQUIRE(timerfd_settime(two_seconds, 0, &(struct itimerspec){{0, 0}, {2, 0}}, NULL) == 0);
  const char* mode = count > 1 ? arguments[1] : "growth";
  if (strcmp(mode, "initial") == 0) {
    install_by_instruction();
    far_below(20);
    say("still there\n");
    own_call(SYS_exit_group, 0, 0, 0, 0, 0);
  }
  if (strcmp(mode, "child") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      install_by_instruction();
      for (int i = 0; i < 1000; i++) free(keep(malloc(10)));
      far_below(10);
      own_call(SYS_exit_group, 7, 0, 0, 0, 0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    say("child: %s %d\n", WIFEXITED(status) ? "ended with" : "was killed by",
        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return 0;
  }
  if (strcmp(mode, "later") == 0) {
    install_by_instruction();
    wait_for_long();
    return 0;
  }
  pthread_t thread[8];
  if (strcmp(mode, "later_thread") == 0) {
    REQUIRE(pthread_create(thread, NULL, run_for_long, NULL) == 0);
    pthread_join(*thread, NULL);
  }
  const int threads = strcmp(mode, "threads") == 0 ? 8 : 1;
  REQUIRE(pipe(ready) == 0 && pipe(begun) == 0);
  for (int i = 0; i < threads; i++)
    REQUIRE(pthread_create(&thread[i], NULL, threads > 1 ? wait_and_run : run, NULL) == 0);
  if (threads > 1) {
    for (int i = 0; i < threads; i++) {
      char byte = 0;
      REQUIRE(write(ready[1], &byte, 1) == 1 && read(begun[0], &byte, 1) == 1);
    }
  }
  for (int i = 0; i < threads; i++) REQUIRE(pthread_join(thread[i], NULL) == 0);
  say("end\n");
  return 0;
}
