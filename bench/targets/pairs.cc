// pairs tight|descend DEPTH THREADS COUNT: COUNT allocate-free pairs, distributed over the threads, DEPTH functions below the
// thread's own. tight: all in one loop at that depth; descend: each pair is made by descending through all functions again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "call_path.h"

namespace {

constexpr int kMaxDepth = 64;

// Sizes that the allocator serves from its cache, so that its own cost stays small.
constexpr size_t kSizes[] = {24, 40, 16, 72, 56, 104, 32, 200};

struct Pairs {
  uint64_t count;
  uint64_t next = 0;

  void operator()(int /*depth*/) {
    for (uint64_t end = next + count; next < end; ++next) {
      void* block = malloc(kSizes[next % std::size(kSizes)]);
      bench::keep(block);
      free(block);
    }
  }
};

void run_thread(bool tight, int depth, uint64_t count) {
  Pairs pairs{.count = tight ? count : 1};
  for (uint64_t calls = tight ? 1 : count; calls > 0; --calls) bench::call_at_depth<Pairs, kMaxDepth>(pairs, depth);
}

}  // namespace

int main(int argc, char** argv) {
  const bool tight = argc == 5 && strcmp(argv[1], "tight") == 0;
  const int depth = argc == 5 ? atoi(argv[2]) : 0;
  const int thread_count = argc == 5 ? atoi(argv[3]) : 0;
  if ((!tight && (argc != 5 || strcmp(argv[1], "descend") != 0)) || depth < 1 || depth > kMaxDepth ||
      thread_count < 1) {
    fprintf(stderr, "usage: %s tight|descend DEPTH(1..%d) THREADS COUNT\n", argv[0], kMaxDepth);
    return 2;
  }
  const uint64_t share = strtoull(argv[4], nullptr, 10) / static_cast<uint64_t>(thread_count);
  if (thread_count == 1) {
    run_thread(tight, depth, share);
    return 0;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(run_thread, tight, depth, share);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
