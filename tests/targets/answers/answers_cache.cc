// A cache in a static object, whose destructor drops the pointers to the pages that it owns: their memory is lost at exit. With "exit" as
// the first word: exit is called, in main; "thread": in another thread; "local": the cache is a static object of a function.
// RUN
// RUN exit
// RUN thread
// RUN local
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

namespace {

constexpr int kPages = 1000;
constexpr size_t kPageBytes = 1000;

struct Page {
  char bytes[kPageBytes];
};

class Cache {
 public:
  void add(int number, Page* page) { pages_[number] = page; }

 private:
  std::map<int, Page*> pages_;
};

Cache g_cache;

Cache& local_cache() {
  static Cache cache;
  return cache;
}

__attribute__((noinline)) Page* make_page() {
  return new Page{};  // LEAK definite 1000 1000000
}

__attribute__((noinline)) void fill(Cache& cache) {
  for (int i = 0; i < kPages; ++i) cache.add(i, make_page());
}

}  // namespace

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "";
  fill(strcmp(way, "local") == 0 ? local_cache() : g_cache);
  if (strcmp(way, "exit") == 0) exit(0);
  if (strcmp(way, "thread") == 0) std::thread([] { exit(0); }).join();
  return 0;
}
