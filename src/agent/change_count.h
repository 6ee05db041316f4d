// How often something changed, so that who remembers a count can ask whether what it knows still holds.
#pragma once
#include <stdint.h>

#include <atomic>

namespace heaptap::agent {

class ChangeCount {
 public:
  constexpr ChangeCount() = default;
  constexpr explicit ChangeCount(uint32_t start) : count_(start) {}

  // Never 0, which stands for "nothing is known".
  [[nodiscard]] uint32_t value() const { return count_.load(std::memory_order_relaxed); }

  void count_up() {
    uint32_t count = value();
    while (!count_.compare_exchange_weak(count, count == UINT32_MAX ? 1 : count + 1, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<uint32_t> count_{1};
};

}  // namespace heaptap::agent
