// Threads with a common start, for tests of shared state.
#pragma once
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

namespace heaptap::test {

// Runs body(0), body(1), …, each in its own thread; all start together.
template <typename Body>
void run_at_once(uint32_t threads, const Body& body) {
  std::barrier begin(threads);
  std::vector<std::jthread> running;
  for (uint32_t number = 0; number < threads; ++number) {
    running.emplace_back([&, number] {
      begin.arrive_and_wait();
      body(number);
    });
  }
}

}  // namespace heaptap::test
