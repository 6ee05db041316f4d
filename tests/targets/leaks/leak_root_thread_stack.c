// A block that only a variable on the stack of another thread holds, which waits in the kernel, in different calls.
// LINK -pthread
// LEVELS -O2
// RUN read held
// RUN read dropped
// RUN futex held
// RUN futex dropped
// RUN epoll held
// RUN epoll dropped
// RUN sleep held
// RUN sleep dropped
// RUN spin held
// RUN spin dropped
#define _GNU_SOURCE
#include "leak.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
static void* volatile box;
static char** words;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
NOINLINE static void wait_in_kernel(void) {
  static int word, ends[2];
  static struct epoll_event event;
  static struct timespec hour = {3600, 0};
  char byte;
  REQUIRE(pipe(ends) == 0);
  set_ready();
  if (said(words, "read")) REQUIRE(read(ends[0], &byte, 1) == 99);
  if (said(words, "futex")) syscall(SYS_futex, &word, 0, 0, NULL, NULL, 0);
  if (said(words, "epoll")) epoll_wait(epoll_create1(0), &event, 1, -1);
  if (said(words, "sleep")) nanosleep(&hour, NULL);
  for (;;) sched_yield();
}
static void* thread(void* unused) {
  void* volatile local = box;
  box = NULL;
  if (said(words, "dropped")) local = NULL;
  forget_registers();
  wait_in_kernel();
  return local;
}
int main(int count, char** arguments) {
  pthread_t id;
  words = arguments;
  far_below(fill_box);
  REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
  await_ready(1);
  forget_registers();
  return 0;
}
