// All ways in which a program ends.
// LINK -pthread
// EXPECT stack function=malloc caller=first allocations=5 frees=0 allocated_bytes=500 live_bytes=500
// RUN return
// EXPECT exit 3
// RUN exit
// EXPECT exit 255
// EXPECT stack function=malloc caller=last allocations=1 allocated_bytes=11
// RUN _exit
// EXPECT exit 4
// EXPECT stack function=malloc caller=last allocations=0
// RUN _Exit
// EXPECT exit 5
// RUN quick_exit
// EXPECT exit 6
// EXPECT stack function=malloc caller=quick_last allocations=1
// RUN exit_group
// EXPECT exit 7
// RUN exit_in_thread
// EXPECT exit 8
// EXPECT stack function=malloc caller=last allocations=1
// RUN pthread_exit
// EXPECT exit 0
// EXPECT stack function=malloc caller=last allocations=1
// RUN abort
// EXPECT signal SIGABRT
// RUN abort_caught
// EXPECT signal SIGABRT
// EXPECT stack function=malloc caller=in_handler allocations=1
// RUN segv
// EXPECT signal SIGSEGV
// RUN segv_caught
// EXPECT signal SIGSEGV
// EXPECT stack function=malloc caller=in_handler allocations=1
// RUN ill
// EXPECT signal SIGILL
// RUN trap
// EXPECT signal SIGTRAP
// RUN kill
// EXPECT signal SIGKILL
// RUN term
// EXPECT signal SIGTERM
// RUN int
// EXPECT signal SIGINT
// RUN pipe
// EXPECT signal SIGPIPE
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
NOINLINE void first(void) {
  for (int i = 0; i < 5; i++) keep(malloc(100));
}
NOINLINE void last(void) { keep(malloc(11)); }
NOINLINE void quick_last(void) { keep(malloc(12)); }
NOINLINE void in_handler(int number) {
  keep(malloc(13));
  signal(number, SIG_DFL);
  raise(number);
}
static void* exits(void* unused) {
  (void)unused;
  exit(8);
}
static int is(char** arguments, const char* name) { return !strcmp(arguments[1], name); }
int main(int count, char** arguments) {
  REQUIRE(count > 1);
  first();
  atexit(last);
  at_quick_exit(quick_last);
  if (is(arguments, "return")) return 3;
  if (is(arguments, "exit")) exit(-1);
  if (is(arguments, "_exit")) _exit(4);
  if (is(arguments, "_Exit")) _Exit(5);
  if (is(arguments, "quick_exit")) quick_exit(6);
  if (is(arguments, "exit_group")) syscall(SYS_exit_group, 7);
  if (is(arguments, "exit_in_thread")) {
    pthread_t id;
    pthread_create(&id, NULL, exits, NULL);
    for (;;) pause();
  }
  if (is(arguments, "pthread_exit")) pthread_exit(NULL);
  if (is(arguments, "abort_caught")) signal(SIGABRT, in_handler);
  if (is(arguments, "abort") || is(arguments, "abort_caught")) abort();
  if (is(arguments, "segv_caught")) signal(SIGSEGV, in_handler);
  if (is(arguments, "segv") || is(arguments, "segv_caught")) *(volatile int*)8 = 1;
  if (is(arguments, "ill")) __builtin_trap();
  if (is(arguments, "trap")) BREAKPOINT();
  if (is(arguments, "kill")) kill(getpid(), SIGKILL);
  if (is(arguments, "term")) kill(getpid(), SIGTERM);
  if (is(arguments, "int")) kill(getpid(), SIGINT);
  if (is(arguments, "pipe")) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    close(ends[0]);
    signal(SIGPIPE, SIG_DFL);
    REQUIRE(write(ends[1], "x", 1) == 1);
  }
  return 98;
}
