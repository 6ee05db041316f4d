// A random graph of blocks, held by random roots of all kinds: `leak_random SEED` prints what it has made, without addresses.
// What is lost and what is held follows from that: tests/support/leak_graph.py.
// LINK -pthread
// LEVELS -O2
// TRACE none
#include "leak.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#define MAX_BLOCKS 240
#define THREADS 3
#define SLOTS 16
#define INTERIOR_MIN 32  // nearer to the start there are ways in which C++ programs hold blocks

static uint64_t random_state;
NOINLINE static unsigned below(unsigned bound) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)((random_state * 0x2545f4914f6cdd1d) >> 33) % bound;
}

// The blocks, in a form that is no pointer.
static const uintptr_t kHidden = 0x5a5a5a5a5a5a5a5a;
static volatile uintptr_t hidden[MAX_BLOCKS];
static unsigned sizes[MAX_BLOCKS];
static unsigned blocks;
#define BLOCK(number) ((char*)(hidden[number] ^ kHidden))

NOINLINE static unsigned random_size(void) {
  static const unsigned bounds[] = {17, 64, 300, 5000, 200000};
  return below(bounds[below(10) == 0 ? 4 : below(4)]);
}
#define MADE(how) (hidden[blocks] = (uintptr_t)(how) ^ kHidden, __LINE__)
NOINLINE static void make(void) {
  unsigned size = random_size(), line = 0;
  void* old = NULL;
  // clang-format off
  switch (below(8)) {
    case 0: line = MADE(malloc(size)); break;
    case 1: line = MADE(malloc(size)); break;
    case 2: line = MADE(calloc(1, size)); break;
    case 3: line = MADE(realloc(NULL, ++size)); break;
    case 4: line = MADE(memalign(256, size)); break;
    case 5: line = MADE(aligned_alloc(64, size)); break;
    case 6: line = MADE(reallocarray(NULL, 1, ++size)); break;
    case 7:
      if (posix_memalign(&old, 512, size) == 0) line = MADE(old);
      break;
  }
  // clang-format on
  sizes[blocks] = size;
  memset(BLOCK(blocks), 0, size);
  say("block %u %u %u\n", blocks++, size, line);
}
static unsigned make_count;
static void make_some(void) {
  for (unsigned i = 0; i < make_count; i++) make();
}

// Puts a pointer to a random block into the word, and says where.
NOINLINE static void point(void* volatile* word, const char* from) {
  unsigned to = below(blocks);
  unsigned interior = below(4) == 0 && sizes[to] > INTERIOR_MIN;
  unsigned inside = INTERIOR_MIN + (interior ? below(sizes[to] - INTERIOR_MIN) : 0);
  if (inside % 16 == 0 && inside > INTERIOR_MIN) --inside;  // what is aligned by hand is held
  *word = BLOCK(to) + (interior ? inside : 0);
  say("%s %u %s\n", from, to, interior ? "interior" : "start");
}
NOINLINE static void link_blocks(void) {
  char from[32];
  for (unsigned i = 0; i < blocks; i++) {
    unsigned words = sizes[i] / sizeof(void*);
    for (unsigned pointers = words ? below(4) : 0; pointers > 0; pointers--) {
      void* volatile* word = (void* volatile*)BLOCK(i) + below(words);
      if (*word) continue;
      snprintf(from, sizeof from, "pointer %u", i);
      point(word, from);
    }
  }
}

// The roots: each kind has a row of words.
static void* volatile in_data[SLOTS] = {(void*)in_data};
static void* volatile in_bss[SLOTS];
static __thread void* volatile in_thread_local[SLOTS];
static struct Thread {
  pthread_t id;
  void* volatile* stack;
  void* volatile* thread_local;
} threads[THREADS];
static pthread_key_t key;
NOINLINE static void hold(void* volatile* row, const char* kind) {
  char from[32];
  for (unsigned roots = below(4); roots > 0; roots--) {
    void* volatile* word = row + below(SLOTS);
    if (*word && *word != (void*)in_data) continue;
    snprintf(from, sizeof from, "root %s", kind);
    point(word, from);
  }
}
static void* thread(void* self) {
  void* volatile on_stack[SLOTS];
  for (unsigned i = 0; i < SLOTS; i++) on_stack[i] = NULL;
  far_below(make_some);
  ((struct Thread*)self)->stack = on_stack;
  ((struct Thread*)self)->thread_local = in_thread_local;
  forget_registers();
  set_ready();
  wait_for_ever();
  return self;
}
NOINLINE static void hold_all(void* volatile* on_stack) {
  void* volatile* mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  hold(in_data, "data");
  hold(in_bss, "bss");
  hold(in_thread_local, "thread_local");
  hold(mapped + 100, "mapping");
  hold(on_stack, "stack");
  for (unsigned i = 0; i < THREADS; i++) {
    hold(threads[i].stack, "thread_stack");
    hold(threads[i].thread_local, "thread_thread_local");
  }
  void* volatile specific = NULL;
  if (below(2)) point(&specific, "root specific");
  pthread_setspecific(key, specific);
}
// From here on nothing is allocated: pointers to released blocks point to nothing.
NOINLINE static void release_some(void) {
  for (unsigned i = 0; i < blocks; i++) {
    if (below(10) != 0) continue;
    free(BLOCK(i));
    say("freed %u\n", i);
  }
}
int main(int count, char** arguments) {
  void* volatile on_stack[SLOTS];
  REQUIRE(count == 2);
  for (unsigned i = 0; i < SLOTS; i++) on_stack[i] = NULL;
  random_state = (uint64_t)atol(arguments[1]) * 0x9e3779b97f4a7c15 + 1;
  pthread_key_create(&key, NULL);
  for (int i = 0; i < THREADS; i++) {
    make_count = below(MAX_BLOCKS / (THREADS + 1));
    REQUIRE(pthread_create(&threads[i].id, NULL, thread, &threads[i]) == 0);
    await_ready(i + 1);
  }
  make_count = 1 + below(MAX_BLOCKS / (THREADS + 1) - 1);
  far_below(make_some);
  link_blocks();
  hold_all(on_stack);
  release_some();
  forget_registers();
  exit(0);
}
