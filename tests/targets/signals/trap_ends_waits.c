// A handled SIGTRAP that comes while the program waits in a system call, after breakpoints that were met with the signal blocked or not,
// by other threads as well: the call ends with EINTR after the handler has run, or goes on where the handler says so, as without
// heaptap. Each signal is sent once.
// RUN pause
// RUN sigsuspend
// RUN poll
// RUN sleep
// RUN read
// RUN read-again
// RUN pause-threads
// RUN sigsuspend-threads
// RUN read-again-threads
// LINK -pthread
// EXPECT stack function=malloc caller=work allocations>=40
#include "target.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
enum { kRounds = 4 };
static struct {
  atomic_int handled;
  atomic_int begun;  // round that waits, or is about to, from 1
  atomic_int ended;
}* shared;
NOINLINE static void work(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(100)));
}
static void handler(int number) { shared->handled++; }
static void change_mask(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTRAP);
  REQUIRE(pthread_sigmask(how, &set, NULL) == 0);
}
static int wait_once(const char* mode, int input) {
  char byte;
  sigset_t none;
  sigemptyset(&none);
  const struct timespec hour = {.tv_sec = 3600};
  if (!strncmp(mode, "sigsuspend", 10)) return sigsuspend(&none);
  if (!strcmp(mode, "poll")) return poll(&(struct pollfd){.fd = input, .events = POLLIN}, 1, -1);
  if (!strcmp(mode, "sleep")) return nanosleep(&hour, NULL);
  if (!strncmp(mode, "read", 4)) return (int)read(input, &byte, 1);
  return pause();
}
// The sender: another process.
static pid_t asker;
static int sleeps(void) {
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", asker);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  const char* const name_end = bytes > 0 ? strrchr(text, ')') : NULL;
  return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'S';
}
static void await(int (*condition)(int), int number) {
  while (!condition(number)) {
    if (getppid() != asker) _exit(1);
    usleep(100);
  }
}
static int waits_in(int round) { return shared->begun == round && sleeps(); }
static int has_ended(int round) { return shared->ended >= round; }
static int has_handled(int count) { return shared->handled >= count; }
static void send_signals(int output) {
  for (int round = 1; round <= kRounds; round++) {
    await(waits_in, round);
    kill(asker, SIGTRAP);
    if (output >= 0) {
      await(has_handled, round);
      REQUIRE(write(output, "x", 1) == 1);
    }
    await(has_ended, round);
  }
  _exit(0);
}
static void* work_on(void* unused) {
  while (shared->ended < kRounds) work();
  return unused;
}
int main(int count, char** arguments) {
  const char* mode = arguments[1];
  const int goes_on = !strncmp(mode, "read-again", 10);
  const int blocks_always = !strncmp(mode, "sigsuspend", 10);
  const int has_threads = strstr(mode, "threads") != NULL;
  int pipes[2];
  pthread_t thread;
  struct sigaction action = {.sa_handler = handler, .sa_flags = goes_on ? SA_RESTART : 0};
  REQUIRE(pipe(pipes) == 0);
  shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED && sigaction(SIGTRAP, &action, NULL) == 0);
  if (blocks_always) change_mask(SIG_BLOCK);
  asker = getpid();
  const pid_t sender = fork();
  if (sender == 0) send_signals(goes_on ? pipes[1] : -1);
  if (has_threads) {
    // The thread begins with the signal blocked: else it may take the first one.
    change_mask(SIG_BLOCK);
    REQUIRE(pthread_create(&thread, NULL, work_on, NULL) == 0);
    if (!blocks_always) change_mask(SIG_UNBLOCK);
  }
  for (int round = 1; round <= kRounds; round++) {
    const int is_blocked = round % 2 == 0 && !blocks_always;
    if (is_blocked) change_mask(SIG_BLOCK);
    work();
    if (is_blocked) change_mask(SIG_UNBLOCK);
    shared->begun = round;
    const int result = wait_once(mode, pipes[0]);
    REQUIRE(goes_on ? result == 1 : result == -1 && errno == EINTR);
    REQUIRE(shared->handled == round);
    shared->ended = round;
  }
  if (has_threads) REQUIRE(pthread_join(thread, NULL) == 0);
  int status;
  REQUIRE(waitpid(sender, &status, 0) == sender && status == 0);
  say("%s: as without heaptap\n", mode);
  return 0;
}
