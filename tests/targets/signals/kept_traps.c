// A program's own use of SIGTRAP, with breakpoints or without them: blocked with a handler, ignored, handled by a function that allocates,
// in a thread that blocks all signals. Mask and action stay what they are, and what is sent comes, waits or is dropped as it would.
// `asked`: it waits for lines of input between its steps.
// RUN blocked
// RUN ignored
// RUN handled
// RUN thread
// RUN waiting
// RUN forks
// LINK -pthread
// EXPECT stack function=malloc caller=work allocations>=200
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
static volatile int handled, other_codes;
static int waits;
NOINLINE static void work(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(100)));
}
static void handler(int number, siginfo_t* reason, void* unused) {
  handled++;
  if (reason->si_code != SI_TKILL && reason->si_code != SI_USER) other_codes++;
  free(keep(malloc(8)));
}
static void step(void) {
  char byte = 0;
  if (!waits) return;
  say("ready\n");
  while (read(0, &byte, 1) == 1 && byte != '\n') {
  }
}
static void set_handler(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigaddset(&action.sa_mask, SIGUSR2);
  REQUIRE(sigaction(SIGTRAP, &action, NULL) == 0);
}
static void require_handler(void) {
  struct sigaction action;
  REQUIRE(sigaction(SIGTRAP, NULL, &action) == 0);
  REQUIRE(action.sa_sigaction == handler && (action.sa_flags & (SA_SIGINFO | SA_RESTART)) == (SA_SIGINFO | SA_RESTART));
  REQUIRE(sigismember(&action.sa_mask, SIGUSR2) == 1);
}
static int change_mask(int how) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGTRAP);
  REQUIRE(pthread_sigmask(how, &set, &before) == 0);
  return sigismember(&before, SIGTRAP);
}
static int is_blocked(void) {
  sigset_t now;
  REQUIRE(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
  return sigismember(&now, SIGTRAP);
}
static int is_pending(void) {
  sigset_t now;
  REQUIRE(sigpending(&now) == 0);
  return sigismember(&now, SIGTRAP);
}
static void run_blocked(void) {
  set_handler();
  REQUIRE(change_mask(SIG_BLOCK) == 0);
  for (int round = 0; round < 3; round++) {
    step();
    work();
    REQUIRE(is_blocked());
    REQUIRE(raise(SIGTRAP) == 0);
    work();  // while it waits
    REQUIRE(is_blocked() && is_pending() && handled == round);
    REQUIRE(change_mask(SIG_UNBLOCK) == 1 && handled == round + 1);
    work();
    REQUIRE(change_mask(SIG_BLOCK) == 0);
    require_handler();
  }
}
static void run_ignored(void) {
  struct sigaction action;
  signal(SIGTRAP, SIG_IGN);
  for (int round = 0; round < 3; round++) {
    step();
    work();
    REQUIRE(raise(SIGTRAP) == 0 && kill(getpid(), SIGTRAP) == 0);
    work();
    REQUIRE(!is_blocked() && !is_pending());
    REQUIRE(sigaction(SIGTRAP, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
  }
}
static void run_handled(void) {
  set_handler();
  for (int round = 0; round < 3; round++) {
    step();
    work();
    REQUIRE(raise(SIGTRAP) == 0 && handled == 2 * round + 1);
    REQUIRE(kill(getpid(), SIGTRAP) == 0);
    work();
    REQUIRE(handled == 2 * round + 2 && !is_blocked());
    require_handler();
  }
}
static void* run_thread(void* unused) {
  for (int round = 0; round < 3; round++) {
    step();
    work();
    REQUIRE(is_blocked());
    REQUIRE(raise(SIGTRAP) == 0);
    work();
    REQUIRE(is_blocked() && is_pending());
    siginfo_t reason;
    sigset_t set;
    sigfillset(&set);
    REQUIRE(sigwaitinfo(&set, &reason) == SIGTRAP && reason.si_code <= 0);
  }
  return unused;
}
static void run_thread_that_blocks_all(void) {
  pthread_t thread;
  sigset_t all;
  sigfillset(&all);
  set_handler();
  REQUIRE(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
  REQUIRE(pthread_create(&thread, NULL, run_thread, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  require_handler();
}
// Another thread handles what comes while one that blocks it meets breakpoints.
static volatile int ends;
static void* block_and_work(void* unused) {
  REQUIRE(change_mask(SIG_BLOCK) == 0);
  while (!ends) work();
  REQUIRE(is_blocked());
  return unused;
}
static void run_waiting(void) {
  pthread_t thread;
  set_handler();
  REQUIRE(pthread_create(&thread, NULL, block_and_work, NULL) == 0);
  for (int round = 0; round < 20; round++) {
    if (round % 10 == 0) step();
    work();
    REQUIRE(kill(getpid(), SIGTRAP) == 0);
    while (handled <= round) usleep(100);
  }
  ends = 1;
  REQUIRE(pthread_join(thread, NULL) == 0);
  require_handler();
}
// What children inherit.
static void run_forks(void) {
  signal(SIGTRAP, SIG_IGN);
  work();
  for (int round = 0; round < 3; round++) {
    step();
    int status;
    work();
    pid_t child = fork();
    if (child == 0) {
      raise(SIGTRAP);
      execl("/bin/sh", "sh", "-c", "kill -TRAP $$; exit 5", NULL);
    }
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
  }
}
int main(int count, char** arguments) {
  const char* mode = arguments[1];
  waits = count > 2;
  if (!strcmp(mode, "blocked")) run_blocked();
  if (!strcmp(mode, "ignored")) run_ignored();
  if (!strcmp(mode, "handled")) run_handled();
  if (!strcmp(mode, "thread")) run_thread_that_blocks_all();
  if (!strcmp(mode, "waiting")) run_waiting();
  if (!strcmp(mode, "forks")) run_forks();
  REQUIRE(other_codes == 0);
  say("handled %d\n", handled);
  return 0;
}
