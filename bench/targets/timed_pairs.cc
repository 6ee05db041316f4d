// timed_pairs DEPTH COUNT: COUNT allocate-free pairs in a loop DEPTH functions down. Prints as JSON the wall time per pair, and the
// number of voluntary context switches, which is the number of stops by a tracer.
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "call_path.h"

namespace {

constexpr int kMaxDepth = 64;
constexpr uint64_t kWarmUp = 20;

double switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_nvcsw);
}

struct TimedPairs {
  uint64_t count;
  double us = 0;
  double stops = 0;

  void operator()(int /*depth*/) {
    run(kWarmUp);
    const double stops_before = switches();
    const auto start = std::chrono::steady_clock::now();
    run(count);
    us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    stops = switches() - stops_before;
  }

  static void run(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      void* block = malloc(24 + i % 8 * 16);
      bench::keep(block);
      free(block);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int depth = argc == 3 ? atoi(argv[1]) : 0;
  const uint64_t count = argc == 3 ? strtoull(argv[2], nullptr, 10) : 0;
  if (depth < 1 || depth > kMaxDepth || count == 0) {
    fprintf(stderr, "usage: %s DEPTH(1..%d) COUNT\n", argv[0], kMaxDepth);
    return 2;
  }
  TimedPairs pairs{.count = count};
  bench::call_at_depth<TimedPairs, kMaxDepth>(pairs, depth);
  const auto pairs_made = static_cast<double>(count);
  printf("{\"us\": %.3f, \"stops\": %.2f}\n", pairs.us / pairs_made, pairs.stops / pairs_made);
  return 0;
}
