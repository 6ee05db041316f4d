// LeakSanitizer's check of heap.h's heap: its CPU time, as JSON on stdout. Its report is discarded.
#include <sanitizer/lsan_interface.h>

#include <cstdio>

#include "cpu_clock.h"
#include "heap.h"

// Finding the names of functions isn't what is measured.
extern "C" const char* __lsan_default_options() { return "symbolize=0"; }

int main(int argc, char** argv) {
  const uint64_t blocks = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const uint64_t average = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 800;
  uint64_t bytes = 0;
  heaptap::bench::build_heap(blocks, average,
                             [&bytes](const heaptap::bench::BlockNote& note) { bytes += note.size_bytes; });
  if (std::freopen("/dev/null", "w", stderr) == nullptr) return 1;
  double start = heaptap::bench::cpu_seconds();
  const int found = __lsan_do_recoverable_leak_check();
  const double elapsed = heaptap::bench::cpu_since(start);
  std::printf("{\"blocks\": %lu, \"bytes\": %lu, \"found\": %d, \"total_s\": %.4f}\n",
              static_cast<unsigned long>(blocks), static_cast<unsigned long>(bytes), found, elapsed);
  std::fflush(stdout);
  std::_Exit(0);
}
