// Threads that begin together, for tests of what they share.
#pragma once
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

namespace heaptap::test {

// body(0), body(1), … each in a thread of its own, and begun when all are there.
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
