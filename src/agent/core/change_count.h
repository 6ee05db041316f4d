// Generation counter for cache invalidation.
#pragma once
#include <stdint.h>

#include <atomic>

namespace heaptap::agent {

class ChangeCount {
 public:
  constexpr ChangeCount() = default;
  constexpr explicit ChangeCount(uint32_t start) : changed_(start ^ kStart) {}

  // Never 0, which stands for "nothing is known".
  [[nodiscard]] uint32_t value() const { return changed_.load(std::memory_order_relaxed) ^ kStart; }

  void count_up() {
    uint32_t changed = changed_.load(std::memory_order_relaxed);
    while (!changed_.compare_exchange_weak(changed, next(changed ^ kStart) ^ kStart, std::memory_order_relaxed)) {
    }
  }

 private:
  static constexpr uint32_t kStart = 1;
  static constexpr uint32_t next(uint32_t count) { return count == UINT32_MAX ? 1 : count + 1; }

  // Zero-initialized, so that its object stays in .bss and takes no room in the library's file.
  std::atomic<uint32_t> changed_{0};
};

}  // namespace heaptap::agent
