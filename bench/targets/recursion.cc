// recursion LEVELS COUNT: a thread calls itself LEVELS deep, COUNT times, with an allocation on each level's way in, and its
// release on the way out.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#include "call_path.h"

namespace {

struct Plan {
  long levels;
  long count;
};

[[gnu::noinline]] void recurse(long left) {
  if (left == 0) return;
  void* block = malloc(10);
  bench::keep(block);
  recurse(left - 1);
  free(block);
}

void* run(void* argument) {
  const Plan& plan = *static_cast<const Plan*>(argument);
  for (long i = 0; i < plan.count; ++i) recurse(plan.levels);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: recursion LEVELS COUNT\n", stderr), 2;
  Plan plan{std::atol(argv[1]), std::atol(argv[2])};
  constexpr size_t kStackBytes = size_t{64} << 20;
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, kStackBytes) != 0 ||
      pthread_create(&thread, &attributes, run, &plan) != 0) {
    return std::fputs("recursion: no thread\n", stderr), 1;
  }
  return pthread_join(thread, nullptr);
}
