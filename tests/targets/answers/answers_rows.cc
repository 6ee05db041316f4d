// Does what the first argument names, and ends as the second one says, each when it is told to go on by a line of input. Without
// arguments: nothing.
// LINK -pthread -ldl
// USES plugin_a lossy_extension
#include "leak.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <map>
#include <memory>

// ---- What is lost.

NOINLINE static void lose_one() { keep(malloc(100)); }

static void leak() {
  for (int i = 0; i < 10; i++) lose_one();
}

NOINLINE static void run_plugin() {
  void* library;
  OPEN_BESIDE(library, "libplugin_a.so");
  const auto entry = reinterpret_cast<void* (*)(size_t)>(dlsym(library, "plugin_entry"));
  keep(entry(700));
  REQUIRE(dlclose(library) == 0);
}

NOINLINE static void* lose_in_thread(void* nothing) {
  lose_one();
  return nothing;
}

static void threads() {
  for (int i = 0; i < 4; i++) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, nullptr, lose_in_thread, nullptr) == 0);
    REQUIRE(pthread_join(thread, nullptr) == 0);
  }
}

struct Node {
  std::shared_ptr<Node> other;
};

NOINLINE static void tie() {
  auto a = std::make_shared<Node>();
  auto b = std::make_shared<Node>();
  a->other = b;
  b->other = a;
}

// ---- What is released wrongly.

NOINLINE static void* make_buffer() { return keep(malloc(50)); }
NOINLINE static void release(void* buffer) { free(buffer); }
NOINLINE static void release_again(void* buffer) { free(buffer); }

// Once more with another block between, which libc's check doesn't see, if its first store is full.
static void double_free() {
  enum { kStored = 7 };
  void* stored[kStored];
  for (void*& each : stored) each = make_buffer();
  void* const buffer = make_buffer();
  void* const between = make_buffer();
  for (void* each : stored) release(each);
  release(buffer);
  release(between);
  release_again(buffer);
}

NOINLINE static int* make_number() { return static_cast<int*>(keep(new int)); }
NOINLINE static void release_by_free(int* number) { free(number); }
static void mismatch() { release_by_free(make_number()); }

// ---- What is held.

static void* volatile g_table[256];

NOINLINE static void fill_table() {
  for (void* volatile& each : g_table) each = keep(malloc(4096));
}

class Cache {
 public:
  void add(int number, void* page) { pages_[number] = page; }

 private:
  std::map<int, void*> pages_;
};

static Cache& cache();
NOINLINE static void* make_page() { return keep(malloc(1000)); }
static void fill_cache() {
  for (int i = 0; i < 1000; i++) cache().add(i, make_page());
}

NOINLINE static void lose_word() { keep(malloc(77)); }

static void fill_table_lossy() {
  fill_table();
  lose_word();
}

static void fill_cache_lossy() {
  fill_cache();
  lose_word();
}

// ---- What is gone, and what is resident.

NOINLINE static void* load_image() { return keep(malloc(1 << 20)); }

static void peak() {
  void* images[8];
  for (void*& each : images) each = load_image();
  for (void* each : images) free(each);
}

NOINLINE static void format() { free(keep(malloc(3000))); }

static void temporary() {
  for (int i = 0; i < 3000; i++) format();
}

NOINLINE static void* pass_one() { return memset(keep(malloc(1000)), 1, 1000); }
NOINLINE static void* hold_one() { return memset(keep(malloc(1000)), 2, 1000); }
enum { kBlocks = 8000, kEach = 32 };
static void* volatile g_held[kBlocks / kEach];
static void* volatile g_passing[kBlocks];

static void fragment() {
  for (int i = 0; i < kBlocks; i++) {
    if (i % kEach == kEach - 1)
      g_held[i / kEach] = hold_one();
    else
      g_passing[i] = pass_one();
  }
  for (void* volatile& each : g_passing) {
    free(each);
    each = nullptr;
  }
}

// ---- What is mapped.

static void* volatile g_region;

NOINLINE static void map_region() {
  g_region = mmap(nullptr, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(g_region != MAP_FAILED);
}

static void map_region_lossy() {
  map_region();
  lose_word();
}

// ---- What a child does.

static void in_child(void (*work)()) {
  const pid_t child = fork();
  if (child == 0) {
    far_below(work);
    _exit(0);
  }
  int status;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void work_in_child() {
  free(make_buffer());
  in_child(peak);
}

static void work_in_one_child_and_lose_in_another() {
  free(make_buffer());
  in_child(lose_word);
  in_child(peak);
}

static const struct {
  const char* name;
  void (*run)();
} kRows[] = {
    {"leak", leak},
    {"plugin", run_plugin},
    {"threads", threads},
    {"cycle", tie},
    {"double", double_free},
    {"mismatch", mismatch},
    {"held", fill_table},
    {"cache", fill_cache},
    {"peak", peak},
    {"temporary", temporary},
    {"fragmentation", fragment},
    {"mmap", map_region},
    {"child", work_in_child},
    {"held_lossy", fill_table_lossy},
    {"cache_lossy", fill_cache_lossy},
    {"mmap_lossy", map_region_lossy},
    {"child_lossy", work_in_one_child_and_lose_in_another},
};

// What its destructor drops is lost.
static Cache g_cache;
static Cache& cache() { return g_cache; }

// Without memory of its own that would be seen, and without reading further than the line.
static void await_line() {
  char byte = 0;
  while (byte != '\n')
    if (read(0, &byte, 1) != 1) _exit(98);
}

static void exit_in_handler(int number) {
  (void)number;
  _exit(0);
}

static int* volatile g_nowhere;
NOINLINE static void fault() { *g_nowhere = 1; }

int main(int count, char** arguments) {
  if (count < 3) return 0;
  say("ready %d\n", getpid());
  await_line();
  free(malloc(10));  // whoever attaches can't tell what the first call belongs to
  for (const auto& row : kRows) {
    if (strcmp(row.name, arguments[1]) == 0) far_below(row.run);
  }
  say("done\n");
  await_line();
  const char* const ending = arguments[2];
  if (strcmp(ending, "exit") == 0) exit(0);
  if (strcmp(ending, "_exit") == 0) _exit(0);
  if (strcmp(ending, "handler") == 0) {
    signal(SIGTERM, exit_in_handler);
    raise(SIGTERM);
  }
  if (strcmp(ending, "crash") == 0) fault();
  return 0;
}
