// Index of the totals' entries by key: open addressing over entry numbers, of fixed size and never full. Lock-free; two
// threads that add the same key at the same time agree on one entry.
#pragma once
#include <stdint.h>

#include <atomic>

#include "agent/core/kernel.h"
#include "common/wire/totals.h"

namespace heaptap::agent {

class EntryIndex {
 public:
  // False: no memory.
  bool start(const wire::TotalsEntry* entries, uint32_t capacity) {
    entries_ = entries;
    mask_ = UINT32_MAX >> __builtin_clz(capacity | 1);
    mask_ = mask_ * 2 + 1;  // at most half of it is ever used
    numbers_ = static_cast<std::atomic<uint32_t>*>(kernel::map_memory((size_t{mask_} + 1) * sizeof(uint32_t)));
    return numbers_ != nullptr;
  }

  // 0: none.
  [[nodiscard]] uint32_t find(uint64_t key) const { return settle(key, 0); }

  // Adds `entry` under this key. Returns the entry number in the index: another one if another thread was first.
  uint32_t add(uint64_t key, uint32_t entry) { return settle(key, entry); }

 private:
  uint32_t settle(uint64_t key, uint32_t entry) const {
    for (uint64_t at = key * 0x9e3779b97f4a7c15u >> 32;; ++at) {
      std::atomic<uint32_t>& number = numbers_[at & mask_];
      uint32_t seen = number.load(std::memory_order_acquire);
      if (seen == 0 && (entry == 0 || number.compare_exchange_strong(seen, entry, std::memory_order_acq_rel)))
        return entry;
      if (entries_[seen].key.load(std::memory_order_relaxed) == key) return seen;
    }
  }

  const wire::TotalsEntry* entries_ = nullptr;
  std::atomic<uint32_t>* numbers_ = nullptr;
  uint32_t mask_ = 0;
};

}  // namespace heaptap::agent
