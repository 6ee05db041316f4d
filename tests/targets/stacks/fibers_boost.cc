// Fibers of boost::context: each has a stack of its own, with a guard page, that is made and unmapped again and again, in
// several threads, and a fiber goes on in another thread than the one that it began in.
// COMPILE -O1
// LINK -lboost_context -lpthread
// NEEDS boost_context
// EXPECT stack function=malloc caller=allocate through=body allocations=24000 frees=24000
#include "target.h"

#include <atomic>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <thread>
#include <vector>

namespace context = boost::context;

NOINLINE void allocate(int size, int depth) {
  if (depth > 0) return allocate(size, depth - 1);
  free(keep(malloc(size)));
}

NOINLINE context::fiber body(context::fiber&& back, int number) {
  for (int i = 0; i < 10; ++i) {
    allocate(16 + i, (number + i) % 4);
    back = std::move(back).resume();
    allocate(16 + i, (number + i) % 7);
  }
  return std::move(back);
}

context::fiber start(int number, size_t stack_bytes) {
  return context::fiber(std::allocator_arg, context::protected_fixedsize_stack(stack_bytes),
                        [number](context::fiber&& back) { return body(std::move(back), number); });
}

void run_rounds(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    context::fiber first = start(round, 64 << 10);
    context::fiber second = start(round + 1, 32 << 10);
    while (first || second) {
      if (first) first = std::move(first).resume();
      if (second) second = std::move(second).resume();
    }
  }
}

void change_threads(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    context::fiber fiber = start(round, 64 << 10);
    while (fiber) {
      std::thread([&] { fiber = std::move(fiber).resume(); }).join();
    }
  }
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(run_rounds, 125);
  for (std::thread& thread : threads) thread.join();
  run_rounds(75);
  change_threads(50);
  say("done\n");
}
