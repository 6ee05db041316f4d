// A program's own use of SIGTRAP, with breakpoints or without them: blocked with a handler, ignored, handled by a function that allocates,
// in a thread that blocks all signals, or in several that read the action while another process sends it, or sends values. Mask and
// action stay what they are, and what is sent comes, waits or is dropped as it would.
// `asked`: it waits for lines of input between its steps.
// RUN blocked
// RUN ignored
// RUN handled
// RUN thread
// RUN waiting
// RUN asking-ignored
// RUN asking-handled
// RUN forks
// RUN values
// LINK -pthread
// EXPECT stack function=malloc caller=work allocations>=200
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
static volatile int handled, other_codes;
static int waits;
static int is_asynchronous;  // the handler may interrupt malloc
NOINLINE static void work(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(100)));
}
static void handler(int number, siginfo_t* reason, void* unused) {
  handled++;
  if (reason->si_code != SI_TKILL && reason->si_code != SI_USER) other_codes++;
  if (!is_asynchronous) free(keep(malloc(8)));
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
// All threads read the action, by libc and by the system call, while another process sends the signal.
static sighandler_t action_by_call(void) {
  struct {
    sighandler_t handler;
    unsigned long rest[8];
  } action;
  REQUIRE(syscall(SYS_rt_sigaction, SIGTRAP, NULL, &action, 8) == 0);
  return action.handler;
}
static atomic_int* asked;  // also the sender's: it sends once a round of some thread, however slow all are
static void* ask(void* expected) {
  for (int i = 0; i < 30; i++) {
    struct sigaction action;
    ++*asked;
    for (int j = 0; j < 5; j++) free(keep(malloc(100)));
    REQUIRE(sigaction(SIGTRAP, NULL, &action) == 0 && (void*)action.sa_handler == expected);
    free(keep(malloc(100)));
    REQUIRE((void*)action_by_call() == expected);
  }
  return expected;
}
static void* block_all_and_ask(void* expected) {
  sigset_t all;
  sigfillset(&all);
  REQUIRE(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
  ask(expected);
  REQUIRE(is_blocked());
  return NULL;
}
// `ends`: the sender kills it this many tens of microseconds after such a signal; 0: never.
static void run_asking(void* expected, int ends) {
  is_asynchronous = 1;
  asked = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(asked != MAP_FAILED);
  const pid_t asker = getpid();
  const pid_t sender = fork();
  for (int sent = 0; sender == 0; usleep(100)) {
    if (getppid() != asker) _exit(0);
    if (sent == *asked) continue;
    sent = *asked;
    kill(asker, SIGTRAP);
    if (!ends || sent < 100) continue;
    usleep(10 * ends);
    kill(asker, SIGKILL);
  }
  for (int round = 0; round < 3; round++) {
    pthread_t threads[3];
    step();
    work();
    for (int i = 0; i < 3; i++) REQUIRE(pthread_create(&threads[i], NULL, block_all_and_ask, expected) == 0);
    ask(expected);
    for (int i = 0; i < 3; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  }
  REQUIRE(kill(sender, SIGKILL) == 0 && waitpid(sender, NULL, 0) == sender);
  REQUIRE(change_mask(SIG_BLOCK) == 0);
  handled = 0;  // as many as came
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
    REQUIRE(waitpid(child, &status, 0) == child);
    if (status != 5 << 8) say("round %d: the child ended with %#x\n", round, (unsigned)status);
    REQUIRE(status == 5 << 8);
  }
}
// Another process sends values in turn by this signal and another one, each as soon as the last one has come.
static atomic_int* come;
static void take_value(int number, siginfo_t* reason, void* unused) {
  const int expected = *come + 1;
  if (number != (expected % 2 ? SIGTRAP : SIGUSR1) || reason->si_code != SI_QUEUE ||
      reason->si_value.sival_int != expected)
    other_codes++;
  if (other_codes == 1)
    say("value %d by signal %d: code %d, %d by %d\n", expected, number, reason->si_code, reason->si_value.sival_int,
        (int)reason->si_pid);
  *come = expected;
}
static void run_values(void) {
  struct sigaction action = {.sa_sigaction = take_value, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigfillset(&action.sa_mask);
  REQUIRE(sigaction(SIGTRAP, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
  come = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(come != MAP_FAILED);
  const pid_t receiver = getpid();
  const pid_t sender = fork();
  for (int sent = 0; sender == 0;) {
    if (getppid() != receiver) _exit(0);
    if (sent != *come && usleep(20) == 0) continue;
    union sigval value = {.sival_int = ++sent};
    sigqueue(receiver, sent % 2 ? SIGTRAP : SIGUSR1, value);
  }
  for (int round = 0; round < (waits ? 20 : 3); round++) {
    step();
    for (const int before = *come; *come < before + 20;) work();
  }
  REQUIRE(kill(sender, SIGKILL) == 0 && waitpid(sender, NULL, 0) == sender);
}
int main(int count, char** arguments) {
  const char* mode = arguments[1];
  waits = count > 2;
  if (!strcmp(mode, "blocked")) run_blocked();
  if (!strcmp(mode, "ignored")) run_ignored();
  if (!strcmp(mode, "handled")) run_handled();
  if (!strcmp(mode, "thread")) run_thread_that_blocks_all();
  if (!strcmp(mode, "waiting")) run_waiting();
  if (!strcmp(mode, "asking-ignored")) {
    signal(SIGTRAP, SIG_IGN);
    run_asking((void*)SIG_IGN, 0);
  }
  const int ends = strncmp(mode, "asking-killed", 13) == 0 ? atoi(mode + 13) + 1 : 0;
  if (ends != 0 || !strcmp(mode, "asking-handled")) {
    set_handler();
    run_asking((void*)handler, ends);
  }
  if (!strcmp(mode, "forks")) run_forks();
  if (!strcmp(mode, "values")) run_values();
  REQUIRE(other_codes == 0);
  say("handled %d\n", handled);
  return 0;
}
