// Eight threads allocate, and send the process a signal thousands of times, whose disposition changes meanwhile. Ends with status 7.
// LINK -pthread
// EXPECT exit 7
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <signal.h>

enum { kThreads = 8, kRounds = 4000, kKept = 64 };
static volatile sig_atomic_t handled;
static int number;
static int flips;  // the disposition, between a handler and the default

static void take(int which) { handled += which != 0; }

static void* work(void* unused) {
  (void)unused;
  void* kept[kKept] = {0};
  for (int i = 0; i < kRounds; ++i) {
    void** place = &kept[i % kKept];
    free(*place);
    *place = keep(malloc(16 + i % 100));
    if (i % 4 == 0 && number) kill(getpid(), number);
    if (i % 64 == 0 && number) signal(number, i % 128 == 0 || !flips ? take : SIG_DFL);
  }
  for (int i = 0; i < kKept / 2; ++i) free(kept[i]);
  return NULL;
}

int main(int argument_count, char** arguments) {
  pthread_t threads[kThreads];
  if (argument_count > 1) number = atoi(arguments[1]);
  flips = argument_count > 2;
  if (number && !flips) signal(number, take);
  for (int i = 0; i < kThreads; ++i) REQUIRE(pthread_create(&threads[i], NULL, work, NULL) == 0);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 7;
}
