// Says that it is ready; two threads allocate, reallocate and release blocks, and compare what is in them, until a line comes. No thread begins or
// ends meanwhile, and none blocks a signal. For tests that attach.
// LINK -pthread
// TRACE none
#include "target.h"

#include <pthread.h>

enum { THREADS = 2 };

static volatile int stops;
static int begun;

static void fill(unsigned char* block, size_t bytes, unsigned char with) {
  for (size_t at = 0; at < bytes; at += 31) block[at] = with;
  block[bytes - 1] = with;
}

static void check(const unsigned char* block, size_t bytes, unsigned char with) {
  for (size_t at = 0; at < bytes; at += 31) REQUIRE(block[at] == with);
  REQUIRE(block[bytes - 1] == with);
}

static void* churn(void* argument) {
  unsigned seed = (unsigned)(uintptr_t)argument;
  __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
  while (!stops) {
    seed = seed * 1664525 + 1013904223;
    const size_t bytes = (seed >> 20) + 1;
    const unsigned char with = (unsigned char)(seed >> 8);
    unsigned char* block = keep(malloc(bytes));
    fill(block, bytes, with);
    if ((seed & 1024) != 0) {
      block = keep(realloc(block, 2 * bytes));
      check(block, bytes, with);
    } else {
      check(block, bytes, with);
    }
    free(block);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, churn, (void*)i) == 0);
  while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < THREADS) usleep(100);
  say("ready\n");
  char line[16];
  REQUIRE(read(0, line, sizeof line) > 0);
  stops = 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  say("all is well\n");
  return 0;
}
