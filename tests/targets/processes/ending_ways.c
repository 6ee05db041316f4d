// Ends that cross each other: in handlers, in threads, while exit handlers run, out of waits.
// LINK -pthread
// RUN exit_in_handler
// EXPECT exit 3
// RUN abort_in_handler
// EXPECT signal SIGABRT
// RUN signal_at_exit
// EXPECT signal SIGTERM
// RUN exit_at_exit
// EXPECT exit 6
// RUN _exit_at_exit
// EXPECT exit 7
// RUN many_threads
// EXPECT exit 8
// RUN sigsuspend
// EXPECT signal SIGTERM
// RUN ppoll
// EXPECT signal SIGUSR1
// RUN queued
// EXPECT signal SIGXCPU
// RUN real_time
// EXPECT exit 172
// RUN alternate_stack
// EXPECT signal SIGSEGV
// RUN overflow
// EXPECT signal SIGSEGV
// RUN divide
// EXPECT signal SIGFPE
// RUN in_thread
// EXPECT signal SIGBUS
// RUN group
// EXPECT signal SIGTERM
// RUN crash_reporter
// EXPECT signal SIGSEGV
// RUN alarm
// EXPECT signal SIGALRM
// RUN exec
// EXPECT signal SIGTERM
// RUN last_thread
// EXPECT exit 0
// RUN blocked
// EXPECT exit 9
#define _GNU_SOURCE
#include "target.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
static const char* way;
static int is(const char* name) { return !strcmp(way, name); }
static void exits(int number) {
  (void)number;
  exit(3);
}
static void aborts(int number) {
  (void)number;
  say("in a handler\n");
  if (is("abort_in_handler")) signal(SIGABRT, SIG_DFL);
  abort();
}
static struct sigaction before_us;
static void reports(int number, siginfo_t* info, void* context) {
  (void)context;
  say("crashed at %p\n", info->si_addr);
  sigaction(number, &before_us, NULL);
}
static void at_end(void) {
  free(keep(malloc(50)));
  say("at the end\n");
  if (is("signal_at_exit")) kill(getpid(), SIGTERM);
  if (is("exit_at_exit")) exit(6);
  if (is("_exit_at_exit")) _exit(7);
}
static void* thread(void* barrier) {
  pthread_barrier_wait(barrier);
  _exit(8);
}
static void* faults(void* unused) {
  (void)unused;
  raise(SIGBUS);
  return NULL;
}
static void* sleeps(void* unused) {
  for (;;) pause();
  return unused;
}
static void* ends_last(void* main_thread) {
  pthread_join(*(pthread_t*)main_thread, NULL);
  return NULL;
}
NOINLINE int deep(volatile char* below) {
  volatile char here[4096];
  here[0] = below ? below[0] : 0;
  return deep(here) + here[0];
}
int main(int count, char** arguments) {
  REQUIRE(count > 1);
  way = arguments[1];
  keep(malloc(100));
  atexit(at_end);
  sigset_t mask;
  sigset_t none;
  sigemptyset(&none);
  sigemptyset(&mask);
  pthread_t id;
  if (is("exit_in_handler")) {
    signal(SIGUSR1, exits);
    raise(SIGUSR1);
  }
  if (is("abort_in_handler")) {
    signal(SIGABRT, aborts);
    abort();
  }
  if (is("many_threads")) {
    static pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 17);
    for (int i = 0; i < 16; i++) pthread_create(&id, NULL, thread, &barrier);
    pthread_barrier_wait(&barrier);
    for (;;) pause();
  }
  if (is("sigsuspend") || is("ppoll") || is("blocked")) {
    int number = is("ppoll") ? SIGUSR1 : SIGTERM;
    sigaddset(&mask, number);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    kill(getpid(), number);
    if (is("sigsuspend")) sigsuspend(&none);
    if (is("ppoll")) ppoll(NULL, 0, NULL, &none);
    if (is("blocked")) {
      int got = 0;
      REQUIRE(sigwait(&mask, &got) == 0 && got == SIGTERM);
      _exit(9);
    }
    say("went on\n");
    return 97;
  }
  if (is("queued")) sigqueue(getpid(), SIGXCPU, (union sigval){.sival_int = 42});
  if (is("real_time")) sigqueue(getpid(), 44, (union sigval){.sival_int = 42});
  if (is("alternate_stack") || is("overflow")) {
    if (is("alternate_stack")) {
      stack_t stack = {.ss_sp = malloc(16384), .ss_size = 16384};
      REQUIRE(sigaltstack(&stack, NULL) == 0);
      stack_t now;
      REQUIRE(sigaltstack(NULL, &now) == 0 && now.ss_sp == stack.ss_sp && now.ss_size == 16384 && now.ss_flags == 0);
    }
    return deep(NULL);
  }
  if (is("divide")) return count / (count - 2);
  if (is("in_thread")) {
    pthread_create(&id, NULL, faults, NULL);
    pthread_join(id, NULL);
  }
  if (is("group")) {
    for (int i = 0; i < 4; i++) pthread_create(&id, NULL, sleeps, NULL);
    kill(getpid(), SIGTERM);
    for (;;) pause();
  }
  if (is("crash_reporter")) {
    struct sigaction action = {.sa_sigaction = reports, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, &before_us);
    REQUIRE(before_us.sa_handler == SIG_DFL);
    *(volatile int*)8 = 1;
  }
  if (is("alarm")) {
    alarm(1);
    for (;;) pause();
  }
  if (is("exec")) execl("/bin/sh", "sh", "-c", "kill -TERM $$", (char*)NULL);
  if (is("last_thread")) {
    static pthread_t own;
    own = pthread_self();
    pthread_create(&id, NULL, ends_last, &own);
    pthread_exit(NULL);
  }
  return 0;
}
