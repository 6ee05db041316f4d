// A program that allocates and releases, keeps a part, and ends as it is told to: by a crash, a kill, a status, or well.
// TRACE none
#include "target.h"

#include <signal.h>

static void* kept[1000];

NOINLINE static void* keep_one(size_t size) { return keep(malloc(size)); }
NOINLINE static void churn(unsigned size) {
  void* block = keep(malloc(1 + size % 5000));
  REQUIRE(block);
  free(block);
}
NOINLINE static void crash(void) { *(volatile int*)keep(NULL) = 1; }

int main(int count, char** arguments) {
  REQUIRE(count > 2);
  unsigned seed = 1;
  long rounds = atol(arguments[1]);
  for (int i = 0; i < 1000; i++) kept[i] = keep_one(100);
  for (long i = 0; i < rounds; i++) {
    churn((unsigned)rand_r(&seed));
    if (i % 1000 != 0) continue;
    int at = rand_r(&seed) % 1000;
    free(kept[at]);
    kept[at] = keep_one(200);
  }
  const char* end = arguments[2];
  if (!strcmp(end, "crash")) crash();
  if (!strcmp(end, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(end, "fail")) return 3;
  if (!strcmp(end, "grow")) {
    for (int i = 0; i < 64; i++) {
      keep_one(1 << 20);
      usleep(20000);
    }
  }
  if (!strcmp(end, "wait")) {
    char line[16];
    say("ready\n");
    REQUIRE(read(0, line, sizeof line) >= 0);
  }
  return 0;
}
