// A producer and a consumer on processors of their own hand blocks over through one place, as fast as they can:
//   order_handover HANDOVERS DELAY [DELAY]…
// Between two looks at the place the consumer counts to DELAY, so that a block mostly lies there when it looks: the processor
// foresees that, and runs into the release of a block while the load that brings its address still waits for the other
// processor's cache. Each delay gets its share of the hand-overs. Prints how many calls of each kind it made: order_check.cc
// compares. All its allocations are made by code of this file.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMostDelays = 16, kLooksBeforeYield = 2000, kBytes = 40 };

static _Atomic(void*) place;
static long handovers_a_delay;
static long delays[kMostDelays];
static int delay_count;

static void count_to(long delay) {
  for (long i = 0; i < delay; i++) __asm__ volatile("");
}

// With one processor, or a busy machine, the other one has to come to run.
static void look_again(long* looks) {
  if (++*looks % kLooksBeforeYield == 0) sched_yield();
}

static void* produce(void* unused) {
  (void)unused;
  long looks = 0;
  for (long i = 0; i < handovers_a_delay * delay_count; i++) {
    void* block = malloc(kBytes);
    if (!block) abort();
    while (atomic_load_explicit(&place, memory_order_relaxed)) look_again(&looks);
    atomic_store_explicit(&place, block, memory_order_release);
  }
  return NULL;
}

static void* consume(void* unused) {
  (void)unused;
  long looks = 0;
  for (int d = 0; d < delay_count; d++) {
    for (long i = 0; i < handovers_a_delay; i++) {
      count_to(delays[d]);
      void* block;
      while (!(block = atomic_load_explicit(&place, memory_order_acquire))) look_again(&looks);
      free(block);
      atomic_store_explicit(&place, NULL, memory_order_release);
    }
  }
  return NULL;
}

static pthread_t start_on(int processor, void* (*work)(void*)) {
  pthread_attr_t attributes;
  cpu_set_t allowed, one;
  pthread_attr_init(&attributes);
  CPU_ZERO(&one);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  int seen = 0;
  const int wanted = processor % CPU_COUNT(&allowed);
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &allowed) && seen++ == wanted) CPU_SET(i, &one);
  pthread_attr_setaffinity_np(&attributes, sizeof(one), &one);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, work, NULL)) abort();
  return thread;
}

int main(int count, char** arguments) {
  delay_count = count - 2;
  if (delay_count < 1 || delay_count > kMostDelays) return 2;
  for (int d = 0; d < delay_count; d++) delays[d] = atol(arguments[2 + d]);
  handovers_a_delay = atol(arguments[1]) / delay_count;
  const pthread_t producer = start_on(0, produce);
  const pthread_t consumer = start_on(1, consume);
  pthread_join(producer, NULL);
  pthread_join(consumer, NULL);
  const long all = handovers_a_delay * delay_count;
  printf("%ld %ld %ld\n", all, all, all * kBytes);
  return 0;
}
