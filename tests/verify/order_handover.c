// A producer and a consumer on processors of their own hand blocks over through one place, as fast as they can:
//   order_handover HANDOVERS DELAY [DELAY]…
// Between two looks at the place the consumer counts to DELAY, so that a block mostly lies there when it looks: the processor
// foresees that, and runs into the release of a block while the load that brings its address still waits for the other
// processor's cache. Each delay gets its share of the hand-overs. Prints how many calls of each kind it made: order_check.cc
// compares. All its allocations are made by code of this file. On a machine that has more to do, who has looked for long sleeps until
// the other one wakes it: that comes to run soon then, where who only gives way waits for others' whole slices of time.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kMaxDelays = 16, kLooksBeforeSleep = 20000, kBytes = 40 };

static _Alignas(128) _Atomic(void*) place;
static _Alignas(128) _Atomic int sleepers;
static long handovers_a_delay;
static long delays[kMaxDelays];
static int delay_count;

static void count_to(long delay) {
  for (long i = 0; i < delay; i++) __asm__ volatile("");
}

// Until there is something else in the place than `seen`. The low half of the place is what is slept on. Nothing orders the other one's
// look at `sleepers` behind its store, which would cost the race that this is for; so a wake-up may be missed, and no sleep is long.
static void sleep_while(void* seen) {
  static const struct timespec longest = {.tv_nsec = 2000000};
  atomic_fetch_add(&sleepers, 1);
  syscall(SYS_futex, &place, FUTEX_WAIT_PRIVATE, (uint32_t)(uintptr_t)seen, &longest, NULL, 0);
  atomic_fetch_sub(&sleepers, 1);
}

static void put(void* block) {
  atomic_store_explicit(&place, block, memory_order_release);
  if (atomic_load_explicit(&sleepers, memory_order_relaxed) != 0)
    syscall(SYS_futex, &place, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0);
}

static void* produce(void* unused) {
  (void)unused;
  for (long i = 0; i < handovers_a_delay * delay_count; i++) {
    void* block = malloc(kBytes);
    if (!block) abort();
    long looks = 0;
    for (void* seen; (seen = atomic_load_explicit(&place, memory_order_relaxed));)
      if (++looks % kLooksBeforeSleep == 0) sleep_while(seen);
    put(block);
  }
  return NULL;
}

static void* consume(void* unused) {
  (void)unused;
  for (int d = 0; d < delay_count; d++) {
    for (long i = 0; i < handovers_a_delay; i++) {
      count_to(delays[d]);
      void* block;
      long looks = 0;
      while (!(block = atomic_load_explicit(&place, memory_order_acquire)))
        if (++looks % kLooksBeforeSleep == 0) sleep_while(NULL);
      free(block);
      put(NULL);
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
  if (delay_count < 1 || delay_count > kMaxDelays) return 2;
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
