/* Switches its recording off for a while, and releases meanwhile what was recorded; tests/e2e/api_test.py knows what has to come of it.
 * The status is 5. */
#define _GNU_SOURCE
#include <heaptap/heaptap.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define REQUIRE(condition)                                   \
  do {                                                       \
    if (!(condition)) {                                      \
      printf("line %d: not so: %s\n", __LINE__, #condition); \
      fflush(stdout);                                        \
      _exit(99);                                             \
    }                                                        \
  } while (0)

enum { kSeen = 1000, kSize = 100, kUnseen = 50, kMappedBytes = 1 << 20 };
static void* seen[kSeen];
static void* unseen[kUnseen];
static void* large[8]; /* side by side, and two larger ones in their place later */
static void* larger[2];
static void* mapped[2];
static char place[1000];
static heaptap_pool pool;

static NOINLINE void* get(size_t size) {
  void* block = calloc(1, size);
  __asm__ volatile("" : "+r"(block) : : "memory");
  REQUIRE(block != NULL);
  return block;
}
static NOINLINE void fill(void) {
  int i;
  for (i = 0; i < kSeen; i++) seen[i] = get(kSize);
}
static NOINLINE void release(void** blocks, int from, int to) {
  for (; from < to; from++) {
    free(blocks[from]);
    blocks[from] = NULL;
  }
}
static NOINLINE void resize(int from, int to, size_t size) {
  for (; from < to; from++) REQUIRE((seen[from] = realloc(seen[from], size)) != NULL);
}
static NOINLINE void* refuse(void* block) { return realloc(block, (size_t)PTRDIFF_MAX); }
/* With no pointer left on the dead stack. */
static NOINLINE void below(void (*function)(void)) {
  volatile char room[8192];
  memset((char*)room, 0, sizeof room);
  function();
  memset((char*)room, 0, sizeof room);
}

/* 900 released, 10 resized, one kept by a realloc that fails; in their places and others 50 that nobody sees, half of them gone. */
static void while_off(void) {
  int i;
  void* volatile refused;
  release(seen, 0, 900);
  resize(900, 905, 20 * kSize);
  resize(905, 910, kSize / 2);
  refused = refuse(seen[910]);
  REQUIRE(refused == NULL);
  for (i = 0; i < kUnseen; i++) unseen[i] = get(kSize);
  refused = refuse(unseen[0]);
  REQUIRE(refused == NULL);
  release(unseen, 0, kUnseen / 2);
  release(large, 0, 8);
  for (i = 0; i < 2; i++) larger[i] = get(11000);
  munmap(mapped[0], kMappedBytes);
  heaptap_released(pool, place);
  heaptap_released(pool, place + 700); /* that nobody heard of */
}

/* Of 90 that are left: 30 lost, 20 held by blocks that nobody saw, 40 by the table. */
static void part(void) {
  int i;
  for (i = 0; i < 30; i++) seen[910 + i] = NULL;
  for (i = 0; i < 10; i++) {
    *(void**)unseen[30 + i] = seen[940 + i];
    seen[940 + i] = NULL;
    ((void**)larger[i % 2])[100 * i] = seen[950 + i];
    seen[950 + i] = NULL;
  }
}

static void map_and_pool(void) {
  int i;
  for (i = 0; i < 8; i++) large[i] = get(3000);
  for (i = 0; i < 2; i++) {
    mapped[i] = mmap(NULL, kMappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped[i] != MAP_FAILED);
  }
  pool = heaptap_pool_create("arena");
  heaptap_allocated(pool, place, 100);
  heaptap_allocated(pool, place + 100, 200);
}

/* Off, on, and releases of what came meanwhile. */
static void pause_window(void) {
  fill();
  map_and_pool();
  heaptap_disable();
  below(while_off);
  heaptap_enable();
  release(unseen, kUnseen / 2, kUnseen / 2 + 5);
  below(part);
}

/* As it was begun, or until it is told to go on. */
static void pause_asked(void) {
  fill();
  map_and_pool();
  printf("filled %d\n", (int)getpid());
  REQUIRE(getchar() == '\n');
  below(while_off);
  printf("off\n");
  REQUIRE(getchar() == '\n');
  release(unseen, kUnseen / 2, kUnseen / 2 + 5);
  below(part);
}

/* Begun while it is off. */
static void pause_first(void) {
  fill();
  heaptap_enable();
  release(seen, 0, 900);
  unseen[0] = get(7);
  heaptap_disable();
  release(unseen, 0, 1);
  release(seen, 900, 1000);
}

/* Each thread has blocks of its own, and of another one's the others' while it is switched on and off. */
enum { kThreads = 4, kRounds = 20000, kSlots = 256 };
static void* slots[kSlots];
static volatile int done;
static void* churn(void* unused) {
  unsigned random = (unsigned)(uintptr_t)unused * 2654435761u + 1;
  int i;
  for (i = 0; i < kRounds; i++) {
    random = random * 1664525u + 1013904223u;
    free(__atomic_exchange_n(&slots[random >> 24], random & 0x100 ? malloc(random >> 20 & 0xff) : NULL,
                             __ATOMIC_ACQ_REL));
  }
  __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
  return NULL;
}
static void pause_threads(void) {
  pthread_t threads[kThreads];
  int i;
  for (i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], NULL, churn, (void*)(uintptr_t)(i + 1)) == 0);
  while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < kThreads) {
    heaptap_disable();
    for (i = 0; i < 100; i++) free(malloc(5000));
    heaptap_enable();
    for (i = 0; i < 100; i++) free(malloc(5000));
  }
  for (i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  for (i = 0; i < kSlots; i++) free(slots[i]);
  memset(slots, 0, sizeof slots);
}

int main(int count, char** arguments) {
  static const struct {
    const char* name;
    void (*pause)(void);
  } ways[] = {{"window", pause_window}, {"asked", pause_asked}, {"first", pause_first}, {"threads", pause_threads}};
  size_t i;
  setvbuf(stdout, NULL, _IOLBF, 512);
  for (i = 0; i < sizeof ways / sizeof *ways; i++) {
    if (count > 1 && strcmp(ways[i].name, arguments[1]) == 0) {
      ways[i].pause();
      return 5;
    }
  }
  return 97;
}
