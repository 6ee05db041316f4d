// A table in the log's memory of which writers map the beginning, and more of it once they may use more: what is mapped counts
// against limits and is locked with the program's memory (mlockall). A longer mapping of the same pages is made at another address;
// the shorter one stays, since threads are using it. Lock-free for those who read.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/leftovers.h"

namespace heaptap::agent {

class GrowingPart {
 public:
  // Of the beginning, `count` items of `item_bytes` are mapped. `max`: items in the log's memory.
  void start(void* items, uint32_t count, uint32_t max, uint32_t item_bytes);

  // Number of items that are mapped.
  [[nodiscard]] uint32_t count() const { return count_.load(std::memory_order_acquire); }  // pairs with map()
  // Of those below a count that was read before.
  [[nodiscard]] uint8_t* items() const { return items_.load(std::memory_order_acquire); }

  // Whether the item is mapped; where it isn't, but may be used, all usable ones are mapped now. False: the memory isn't available.
  bool gets(uint32_t index, const std::atomic<uint32_t>& usable) { return index < count() || grow(index, usable); }

  // The longer mapping; empty where there is none.
  [[nodiscard]] MappedPart growth() const;
  // Of address space taken by longer mappings, the earlier ones included.
  [[nodiscard]] size_t grown_bytes() const { return grown_bytes_.load(std::memory_order_relaxed); }

 private:
  __attribute__((noinline)) bool grow(uint32_t index, const std::atomic<uint32_t>& usable);
  bool map(uint32_t count);

  std::atomic<uint8_t*> items_{nullptr};
  std::atomic<uint32_t> count_{0};
  std::atomic<uint32_t> growing_{0};            // 1: more are being mapped
  std::atomic<bool> cannot_grow_{false};        // growing has failed
  std::atomic<uint32_t> waited_in_vain_at_{0};  // the count for which one waited until another had mapped more; 0: none
  std::atomic<size_t> grown_bytes_{0};
  uint8_t* first_ = nullptr;
  uint32_t max_ = 0;
  uint32_t item_bytes_ = 0;
};

}  // namespace heaptap::agent
