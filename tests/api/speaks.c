/* Speaks to its recording in the way that its argument names; tests/e2e/api_test.py knows what has to come of it. What the functions
 * give goes to stdout; the status is 5, or 99 where something isn't as it should be with and without a recording. */
#define _GNU_SOURCE
#include <errno.h>
#include <heaptap/heaptap.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define REQUIRE(condition)                                                            \
  do {                                                                                \
    if (!(condition)) {                                                               \
      printf("line %d: not so: %s (errno %d)\n", __LINE__, #condition, (int)(errno)); \
      fflush(stdout);                                                                 \
      _exit(99);                                                                      \
    }                                                                                 \
  } while (0)

static void* volatile kept[64];
static char place[4096]; /* what pools hand out, so to speak */

static NOINLINE void* get(size_t size) {
  void* block = malloc(size);
  __asm__ volatile("" : "+r"(block) : : "memory");
  REQUIRE(block != NULL);
  return block;
}
static NOINLINE void first(void) { kept[0] = get(1000); }
static NOINLINE void second(void) { kept[1] = get(200); }
static NOINLINE void third(void) { kept[2] = get(30); }
static NOINLINE void lose(void) {
  void* block = get(77);
  *(void* volatile*)block = NULL;
}
static NOINLINE void overwrite_stack(void) {
  volatile char space[4096];
  memset((char*)space, 0, sizeof space);
}

static void speak_marks(void) {
  first();
  heaptap_mark("one");
  second();
  heaptap_mark("two");
  third();
  heaptap_mark("two");
}

static void* work_untagged(void* unused) {
  third();
  return unused;
}
static void* work_tagged(void* tag) {
  heaptap_push_tag(tag);
  third();
  heaptap_pop_tag();
  return NULL;
}
static void in_thread(void* (*work)(void*), const char* tag) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, work, (void*)tag) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
}
static NOINLINE void untagged(void) { kept[3] = get(4000); }

static void speak_tags(void) {
  heaptap_push_tag("request");
  first();
  heaptap_push_tag("parse");
  second();
  in_thread(work_untagged, NULL);
  in_thread(work_tagged, "worker");
  heaptap_pop_tag();
  first();
  heaptap_pop_tag();
  untagged();
}

enum { kThreads = 1000 };
static void* one_of_many(void* number) {
  char tag[20];
  int i;
  snprintf(tag, sizeof tag, "kind %d", (int)((size_t)number % 4));
  for (i = 0; i < 10; i++) {
    heaptap_push_tag(tag);
    free(get(100));
    heaptap_pop_tag();
  }
  return NULL;
}
static void speak_threads(void) {
  static pthread_t threads[kThreads];
  pthread_attr_t attributes;
  size_t i;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  for (i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], &attributes, one_of_many, (void*)i) == 0);
  for (i = 0; i < kThreads; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
}

static NOINLINE void unseen(void) {
  int i;
  for (i = 10; i < 20; i++) kept[i] = get(50);
}
static void speak_switch(void) {
  int i;
  first();
  printf("recording %d\n", heaptap_is_recording());
  heaptap_disable();
  heaptap_disable();
  printf("recording %d\n", heaptap_is_recording());
  unseen();
  free(kept[0]); /* of a block that was recorded */
  heaptap_enable();
  printf("recording %d\n", heaptap_is_recording());
  for (i = 10; i < 20; i++) free(kept[i]); /* of blocks that weren't: no errors */
  second();
}

static NOINLINE void fill_pool(heaptap_pool pool) {
  heaptap_allocated(pool, place, 100);
  heaptap_allocated(pool, place + 100, 200);
  heaptap_allocated(pool, place + 300, 300);
}
static void speak_pools(void) {
  const heaptap_pool arena = heaptap_pool_create("arena");
  const heaptap_pool scratch = heaptap_pool_create("scratch");
  printf("made %d\n", arena != 0 && scratch != 0 && arena != scratch);
  fill_pool(arena);
  heaptap_released(arena, place + 100);
  heaptap_reallocated(arena, place + 300, place + 600, 1000);
  fill_pool(scratch); /* the same addresses: other blocks */
  heaptap_pool_destroy(scratch);
  first();
}

static void speak_names(void) {
  first();
  heaptap_name_block(kept[0], "the table");
  second();
  heaptap_name_block(kept[1], "old");
  heaptap_name_block(kept[1], "new");
}

static NOINLINE void open_some(heaptap_resource kind) {
  heaptap_opened(kind, 3, 1);
  heaptap_opened(kind, 4, 1);
  heaptap_opened(kind, UINT64_C(0xffffffffffff), 1);
  heaptap_closed(kind, 4);
}
static void speak_resources(void) { open_some(heaptap_resource_create("textures")); }

static void speak_report(void) {
  char line[200];
  FILE* file;
  int error;
  first();
  error = heaptap_report("first.memlog");
  printf("report %d\n", error);
  second();
  free(kept[0]);
  error = heaptap_report("second.memlog");
  printf("report %d\n", error);
  printf("existing %d\n", heaptap_report("existing.memlog")); /* is there */
  printf("nowhere %d\n", heaptap_report("/nonexistent/x.memlog"));
  file = fopen("second.memlog", "r"); /* whole as soon as the call returns */
  printf("there %d\n", file != NULL && fgets(line, sizeof line, file) != NULL);
}

static void speak_scan(void) {
  heaptap_scan_counts counts = HEAPTAP_SCAN_COUNTS;
  struct {
    size_t struct_bytes;
    uint64_t definite_blocks, guard;
  } small = {16, 7, 7};
  int i, error;
  first();
  for (i = 0; i < 3; i++) lose();
  overwrite_stack();
  error = heaptap_scan(&counts);
  printf("scan %d definite %d %d reachable %d\n", error, (int)counts.definite_blocks, (int)counts.definite_bytes,
         counts.reachable_blocks > 0);
  error = heaptap_scan((heaptap_scan_counts*)(void*)&small); /* a caller of an earlier version */
  printf("scan %d definite %d guard %d\n", error, (int)small.definite_blocks, (int)small.guard);
  printf("scan %d\n", heaptap_scan(NULL));
}

static void speak_fork(void) {
  pid_t child;
  int status;
  heaptap_push_tag("parent");
  first();
  child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    heaptap_mark("in the child");
    heaptap_push_tag("child");
    second();
    heaptap_pop_tag();
    first();
    heaptap_pop_tag();
    _exit(6);
  }
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 6);
  heaptap_pop_tag();
  heaptap_mark("after the child");
}

static volatile sig_atomic_t signals;
static void handle(int number) {
  static heaptap_pool pool;
  const int before = errno;
  if (pool == 0) pool = heaptap_pool_create("of signals");
  heaptap_push_tag("signal");
  heaptap_mark("signal");
  heaptap_allocated(pool, place + signals % 1000, 10);
  heaptap_released(pool, place + signals % 1000);
  heaptap_name_block(place, "x");
  heaptap_pop_tag();
  if (errno != before) _exit(98);
  signals = signals + (number != 0);
}
static NOINLINE void churn(void) {
  int i;
  for (i = 0; i < 100; i++) free(get(64));
}
static void speak_signals(void) {
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  heaptap_push_tag("churn");
  signal(SIGALRM, handle);
  setitimer(ITIMER_REAL, &often, NULL);
  while (signals < 200) churn();
  setitimer(ITIMER_REAL, &never, NULL);
  heaptap_pop_tag();
  untagged();
}

/* A text that ends with its page, behind which nothing may be read. */
static const char* text_at_page_end(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
  memcpy(memory + page - 4, "end", 4);
  return memory + page - 4;
}

static void speak_hostile(void) {
  static char huge[1 << 20];
  const char* names[5];
  const uint64_t pools[] = {0, 1, 2, 77, UINT64_C(1) << 24, UINT64_C(1) << 40, UINT64_MAX};
  heaptap_scan_counts counts = HEAPTAP_SCAN_COUNTS;
  size_t i, j;
  memset(huge, 'h', sizeof huge - 1);
  names[0] = NULL;
  names[1] = "";
  names[2] = huge;
  names[3] = text_at_page_end();
  names[4] = "\xff\x01\n\"<&%s%n/\x1b[31m";
  errno = 4711;
  for (i = 0; i < 10; i++) heaptap_pop_tag();
  for (i = 0; i < 5; i++) {
    heaptap_mark(names[i]);
    heaptap_push_tag(names[i]);
    free(get(10));
    heaptap_name_block(NULL, names[i]);
    heaptap_name_block(place, names[i]);
    heaptap_name_block((void*)-1, names[i]);
    heaptap_pool_create(names[i]);
    heaptap_resource_create(names[i]);
  }
  for (i = 0; i < 5; i++) heaptap_pop_tag();
  for (i = 0; i < 10000; i++) heaptap_push_tag(i % 2 != 0 ? "deep" : "deeper");
  free(get(11));
  for (i = 0; i < 10000; i++) heaptap_pop_tag();
  untagged(); /* as many pops as pushes: no tag */
  for (i = 0; i < 10; i++) heaptap_pop_tag();
  for (i = 0; i < 20000; i++) { /* more names than there is place for */
    char name[20];
    snprintf(name, sizeof name, "tag %d", (int)i);
    heaptap_push_tag(name);
    heaptap_pop_tag();
  }
  for (i = 0; i < sizeof pools / sizeof *pools; i++) {
    for (j = 0; j < 3; j++) {
      heaptap_allocated(pools[i], place, j == 1 ? SIZE_MAX : 0);
      heaptap_allocated(pools[i], NULL, 1);
      heaptap_allocated(pools[i], place, 5); /* is there already */
      heaptap_released(pools[i], (void*)(intptr_t)-1);
      heaptap_released(pools[i], NULL);
      heaptap_reallocated(pools[i], place + 5, place + 6, SIZE_MAX);
      heaptap_reallocated(pools[i], NULL, NULL, 0);
      heaptap_opened(pools[i], UINT64_MAX, UINT64_MAX);
      heaptap_closed(pools[i], 12345);
    }
    heaptap_pool_destroy(pools[i]);
    heaptap_pool_destroy(pools[i]);
  }
  REQUIRE(errno == 4711);
  REQUIRE(heaptap_report(NULL) != 0);
  REQUIRE(heaptap_report("") != 0);
  REQUIRE(heaptap_report(huge) != 0);
  counts.struct_bytes = 0;
  heaptap_scan(&counts);
  REQUIRE(counts.struct_bytes == 0 && counts.definite_blocks == 0);
  REQUIRE(errno == 4711);
  printf("unharmed\n");
}

int main(int count, char** arguments) {
  static const struct {
    const char* name;
    void (*speak)(void);
  } ways[] = {{"marks", speak_marks},         {"tags", speak_tags},       {"threads", speak_threads},
              {"switch", speak_switch},       {"pools", speak_pools},     {"names", speak_names},
              {"resources", speak_resources}, {"report", speak_report},   {"scan", speak_scan},
              {"fork", speak_fork},           {"signals", speak_signals}, {"hostile", speak_hostile}};
  size_t i;
  setvbuf(stdout, NULL, _IOLBF, 512);
  for (i = 0; i < sizeof ways / sizeof *ways; i++) {
    if (count > 1 && strcmp(ways[i].name, arguments[1]) == 0) {
      ways[i].speak();
      return 5;
    }
  }
  return 97;
}
