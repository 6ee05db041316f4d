// Eight threads that hand blocks to each other all the time, so that addresses are reused across threads at once. Prints how
// many calls of each kind it made: order_check.cc compares. All its allocations are made by code of this file.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A few places where blocks change hands at once, and many where they stay for a while.
enum { kThreads = 8, kSlots = 20000, kHotSlots = 16 };
static _Atomic(void*) slots[kSlots];
static long rounds;

struct Counts {
  uint64_t allocations, releases, bytes;
};
static struct Counts counts[kThreads];

static uint32_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

static void* allocate(struct Counts* own, uint32_t random) {
  size_t size = 1 + random % 200;
  void* block;
  switch (random >> 8 & 7) {
    case 0:
      block = calloc(size, 2), size *= 2;
      break;
    case 1:
      block = aligned_alloc(64, size * 64), size *= 64;
      break;
    default:
      block = malloc(size);
      break;
  }
  if (!block) abort();
  own->allocations++;
  own->bytes += size;
  return block;
}

// Grows or shrinks a block, moves it, fails now and then.
static void* reallocate(struct Counts* own, void* block, uint32_t random) {
  size_t size = random % 16 == 0 ? SIZE_MAX / 2 + random : 1 + random % 400;
  void* moved = realloc(block, size);
  if (!moved) return block;
  own->allocations++;
  own->releases++;
  own->bytes += size;
  return moved;
}

static void* work(void* argument) {
  struct Counts own = {0};
  const uintptr_t number = (uintptr_t)argument;
  uint64_t state = number + 1;
  for (long i = 0; i < rounds; i++) {
    const uint32_t random = next_random(&state);
    void* block = allocate(&own, random);
    if (random % 11 == 0) block = reallocate(&own, block, next_random(&state));
    void* other = atomic_exchange(&slots[next_random(&state) % (random % 3 ? kHotSlots : kSlots)], block);
    if (other && random % 13 == 0) other = reallocate(&own, other, next_random(&state));
    if (other) {
      free(other);
      own.releases++;
    }
  }
  counts[number] = own;
  return NULL;
}

int main(int count, char** arguments) {
  rounds = count > 1 ? atol(arguments[1]) : 1000;
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; i++)
    if (pthread_create(&threads[i], NULL, work, (void*)i)) return 1;
  struct Counts all = {0};
  for (int i = 0; i < kThreads; i++) {
    pthread_join(threads[i], NULL);
    all.allocations += counts[i].allocations;
    all.releases += counts[i].releases;
    all.bytes += counts[i].bytes;
  }
  printf("%llu %llu %llu\n", (unsigned long long)all.allocations, (unsigned long long)all.releases,
         (unsigned long long)all.bytes);
  return 0;
}
