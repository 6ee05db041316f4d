// Blocks that only the kernel knows of: it gives their addresses back with an event of epoll, or with a timer's signal.
// LINK -lrt
// RUN epoll held
// RUN epoll dropped
// RUN epoll closed
// RUN epoll many
// RUN timer held
// RUN timer dropped
#include "leak.h"

#include <signal.h>
#include <sys/epoll.h>
#include <time.h>
#define MANY 300
static int epoll, ends[2];
static timer_t timer;
// What belongs to a connection, and what that holds.
struct connection {
  void* buffer;
};
NOINLINE static struct connection* connection(void) {
  // LEAK many: reachable 300 *; held: reachable 1 8/4; dropped: definite 1 8/4; closed: definite 1 8/4
  struct connection* made = malloc(sizeof *made);
  // LEAK many: reachable 300 *; held: reachable 1 100; dropped: indirect 1 100; closed: indirect 1 100
  made->buffer = malloc(100);
  return made;
}
NOINLINE static void watch(int descriptor) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection()};
  REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0);
}
static void poll_connections(void) {
  epoll = epoll_create1(EPOLL_CLOEXEC);
  REQUIRE(epoll >= 0 && pipe(ends) == 0);
  watch(ends[0]);
}
static void poll_many(void) {
  poll_connections();
  for (int i = 1; i < MANY; i++) watch(dup(ends[0]));
}
static void set_timer(void) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_ptr = connection()};
  struct itimerspec far = {.it_value.tv_sec = 1000};
  REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &far, NULL) == 0);
}
int main(int count, char** arguments) {
  far_below(said(arguments, "timer") ? set_timer : said(arguments, "many") ? poll_many : poll_connections);
  if (said(arguments, "closed")) REQUIRE(close(epoll) == 0);
  if (said(arguments, "dropped"))
    REQUIRE(said(arguments, "timer") ? timer_delete(timer) == 0 : epoll_ctl(epoll, EPOLL_CTL_DEL, ends[0], NULL) == 0);
  forget_registers();
  return 0;
}
