// A program that does all at once what an attach must not disturb, and looks at every outcome itself: threads that allocate,
// forks, vfork and posix_spawn, a profiling timer, waits with and without time limits. A line on stdin ends it: then it says
// what it did. An outcome that isn't as it has to be ends it with status 99 and the line.
// LINK -pthread
// TRACE none
#define _GNU_SOURCE
#include "target.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

enum { kLimitMs = 20 };
static volatile int ending;
static volatile long profiled;
static volatile long allocated[3], forked, spawned, waited[6];
static char* const true_arguments[] = {"true", NULL};
extern char** environ;

static void on_profile(int unused) { profiled++; }
static void block_signals(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
}

NOINLINE static void allocate_once(unsigned* seed, unsigned char mark) {
  size_t size = 1 + (size_t)rand_r(seed) % 600;
  unsigned char* block = malloc(size);
  REQUIRE(block);
  memset(block, mark, size);
  block = realloc(block, size + 100);
  REQUIRE(block);
  for (size_t i = 0; i < size; i++) REQUIRE(block[i] == mark);
  free(block);
}
static void* allocator(void* number) {
  unsigned seed = (unsigned)(intptr_t)number;
  while (!ending) {
    for (int i = 0; i < 20; i++) allocate_once(&seed, (unsigned char)seed);
    allocated[(intptr_t)number] += 20;
    usleep(500);
  }
  return NULL;
}
static void await_status(pid_t child, int status) {
  int found = -1;
  REQUIRE(waitpid(child, &found, 0) == child);
  if (found != status << 8) say("a child's status is %x, not %x\n", found, status << 8);
  REQUIRE(WIFEXITED(found) && WEXITSTATUS(found) == status);
}
static void* forker(void* unused) {
  block_signals();
  while (!ending) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      unsigned seed = 5;
      for (int i = 0; i < 30; i++) allocate_once(&seed, 7);
      _exit(7);
    }
    await_status(child, 7);
    forked++;
    usleep(2000);
  }
  return NULL;
}
static void* spawner(void* unused) {
  block_signals();
  while (!ending) {
    pid_t child;
    REQUIRE(posix_spawn(&child, "/bin/true", NULL, NULL, true_arguments, environ) == 0);
    await_status(child, 0);
    child = vfork();
    if (child == 0) {
      execve("/bin/true", true_arguments, environ);
      _exit(9);
    }
    await_status(child, 0);
    spawned += 2;
    usleep(5000);
  }
  return NULL;
}

// Waits of threads that no signal of the program's own can end.
static void wait_epoll(void) {
  int epoll = epoll_create1(0), event = eventfd(0, 0);
  struct epoll_event wanted = {.events = EPOLLIN}, got;
  REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted) == 0);
  REQUIRE(epoll_wait(epoll, &got, 1, kLimitMs) == 0);
  REQUIRE(eventfd_write(event, 1) == 0);
  REQUIRE(epoll_wait(epoll, &got, 1, -1) == 1);
  close(epoll);
  close(event);
}
static void wait_recv(void) {
  int pair[2];
  char byte;
  struct timeval limit = {0, kLimitMs * 1000};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  REQUIRE(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  REQUIRE(recv(pair[0], &byte, 1, 0) == -1 && errno == EAGAIN);
  REQUIRE(write(pair[1], "x", 1) == 1 && recv(pair[0], &byte, 1, 0) == 1);
  close(pair[0]);
  close(pair[1]);
}
static void wait_futex(void) {
  static int word;
  struct timespec limit = {0, kLimitMs * 1000000};
  REQUIRE(syscall(SYS_futex, &word, 128 /* FUTEX_WAIT_PRIVATE */, 0, &limit, NULL, 0) == -1 && errno == ETIMEDOUT);
}
static void wait_sleep(void) {
  struct timespec limit = {0, kLimitMs * 1000000};
  REQUIRE(nanosleep(&limit, NULL) == 0);
}
static void wait_poll(void) { REQUIRE(poll(NULL, 0, kLimitMs) == 0); }
static void wait_timer(void) {
  uint64_t count;
  struct itimerspec limit = {{0, 0}, {0, kLimitMs * 1000000}};
  int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  REQUIRE(timerfd_settime(timer, 0, &limit, NULL) == 0);
  REQUIRE(read(timer, &count, sizeof count) == sizeof count && count == 1);
  close(timer);
}
static void (*const waits[])(void) = {wait_epoll, wait_recv, wait_futex, wait_sleep, wait_poll, wait_timer};
static void* waiter(void* number) {
  block_signals();
  while (!ending) {
    waits[(intptr_t)number]();
    waited[(intptr_t)number]++;
  }
  return NULL;
}

// Threads that live for a moment, where the program is asked for them.
static void* short_thread(void* seed) {
  unsigned own = (unsigned)(intptr_t)seed;
  allocate_once(&own, 3);
  return NULL;
}
static void* maker(void* unused) {
  for (intptr_t i = 0; !ending; i++) {
    pthread_t id;
    REQUIRE(pthread_create(&id, NULL, short_thread, (void*)i) == 0);
    REQUIRE(pthread_join(id, NULL) == 0);
  }
  return NULL;
}

static pthread_t threads[16];
static int started;
static void start(void* (*body)(void*), intptr_t number) {
  REQUIRE(pthread_create(&threads[started++], NULL, body, (void*)number) == 0);
}
static void await_all(int is_calm) {
  for (;;) {
    int all = profiled > 0 && forked > 0 && spawned > 0;
    for (int i = 0; i < 3; i++) all = all && allocated[i] > 0;
    for (int i = 0; i < 6 && !is_calm; i++) all = all && waited[i] > 0;
    if (all) return;
    usleep(1000);
  }
}
int main(int count, char** arguments) {
  struct sigaction action = {.sa_handler = on_profile, .sa_flags = SA_RESTART};
  struct itimerval every = {{0, 2000}, {0, 2000}};
  REQUIRE(sigaction(SIGPROF, &action, NULL) == 0);
  REQUIRE(setitimer(ITIMER_PROF, &every, NULL) == 0);
  for (int i = 0; i < 3; i++) start(allocator, i);
  int is_calm = count > 1 && !strcmp(arguments[1], "calm");
  for (int i = 0; i < 6 && !is_calm; i++) start(waiter, i);
  start(forker, 0);
  start(spawner, 0);
  if (count > 1 && !strcmp(arguments[1], "threads")) start(maker, 0);
  await_all(is_calm);
  say("ready\n");
  char line[16];
  REQUIRE(read(0, line, sizeof line) > 0);
  ending = 1;
  for (int i = 0; i < started; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  say("all is well\n");
  return 0;
}
