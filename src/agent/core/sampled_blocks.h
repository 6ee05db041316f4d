// Set of the live blocks that are recorded where blocks are sampled, asked at each release: a small filter, which stays in the
// processor's first cache, answers for nearly all others.
//
// Lock-free, as LiveBlocks is. Tables double: new blocks go to the last one, the earlier ones run empty. A block whose release isn't seen
// stays, and so its address may be in here twice.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/pieces.h"
#include "common/wire/atomic_64.h"

namespace heaptap::agent {

class SampledBlocks {
 public:
  // Called once a session. False: no memory.
  bool start() {
    for (std::atomic<Table*>& table : tables_) table.store(nullptr, std::memory_order_relaxed);
    newest_.store(0, std::memory_order_relaxed);
    filter_ = static_cast<std::atomic<uint8_t>*>(g_pieces.take(kFilterBytes));
    return filter_ != nullptr && table_at(0) != nullptr;
  }

  // False: it isn't in here, for certain.
  [[nodiscard]] __attribute__((always_inline)) bool may_have(uintptr_t block) const {
    return filter_[filter_index(block)].load(std::memory_order_relaxed) != 0;
  }

  // Call before the program has the block. False: no memory.
  bool add(uintptr_t block) {
    for (;;) {
      const uint32_t number = newest_.load(std::memory_order_acquire);
      Table* const table = table_at(number);
      if (table == nullptr) return false;
      if (add_to(*table, block)) {
        change_filter(block, 1);
        return true;
      }
      uint32_t expected = number;
      if (number + 1 >= kTables) return false;
      newest_.compare_exchange_strong(expected, number + 1, std::memory_order_acq_rel);
    }
  }

  // Removes it. False: it isn't in here.
  bool take(uintptr_t block) {
    for (uint32_t number = newest_.load(std::memory_order_acquire) + 1; number-- > 0;) {
      Table* const table = tables_[number].load(std::memory_order_acquire);
      if (table != nullptr && take_from(*table, block)) {
        change_filter(block, -1);
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr uint32_t kFilterBits = 14;  // of its places
  static constexpr size_t kFilterBytes = size_t{1} << kFilterBits;
  static constexpr uint32_t kFirstPlaces = 1024;
  static constexpr uint32_t kTables = 16;
  static constexpr uint32_t kMaxSteps = 64;  // between a block's home and its place
  static constexpr uint64_t kNever = 0;      // the place was never used: nothing is behind it
  static constexpr uint64_t kGone = 1;
  static constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;

  struct Table {
    uint32_t mask;
    std::atomic<uint32_t> count;
    wire::Atomic64 places[1];
  };

  // Small blocks are 16 bytes apart.
  static uint32_t filter_index(uintptr_t block) {
    return static_cast<uint32_t>((uint64_t{block} >> 4) * kMix >> (64 - kFilterBits));
  }
  static wire::Atomic64& place_of(Table& table, uintptr_t block, uint32_t step) {
    return table.places[(static_cast<uint32_t>((uint64_t{block} >> 4) * kMix >> 32) + step) & table.mask];
  }

  // Counts blocks; a full counter stays full, and its blocks are looked for.
  void change_filter(uintptr_t block, int by) {
    std::atomic<uint8_t>& counter = filter_[filter_index(block)];
    uint8_t seen = counter.load(std::memory_order_relaxed);
    while (seen != UINT8_MAX &&
           !counter.compare_exchange_weak(seen, static_cast<uint8_t>(seen + by), std::memory_order_relaxed)) {
    }
  }

  // Makes it if necessary; null: no memory.
  Table* table_at(uint32_t number) {
    Table* table = tables_[number].load(std::memory_order_acquire);
    if (table != nullptr) return table;
    const uint32_t places = kFirstPlaces << number;
    auto* const made = static_cast<Table*>(g_pieces.take(sizeof(Table) + places * sizeof(wire::Atomic64)));
    if (made == nullptr) return nullptr;
    made->mask = places - 1;
    // What another thread made at the same moment is used; this one stays unused.
    return tables_[number].compare_exchange_strong(table, made, std::memory_order_acq_rel) ? made : table;
  }

  // False: too full.
  static bool add_to(Table& table, uintptr_t block) {
    if (table.count.load(std::memory_order_relaxed) > table.mask / 2) return false;
    for (uint32_t step = 0; step < kMaxSteps; ++step) {
      wire::Atomic64& place = place_of(table, block, step);
      uint64_t seen = place.load(std::memory_order_relaxed);
      if (seen > kGone || !place.compare_exchange_strong(seen, block, std::memory_order_acq_rel)) continue;
      table.count.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  static bool take_from(Table& table, uintptr_t block) {
    for (uint32_t step = 0; step < kMaxSteps; ++step) {
      wire::Atomic64& place = place_of(table, block, step);
      uint64_t seen = place.load(std::memory_order_acquire);
      if (seen == kNever) return false;
      if (seen != block || !place.compare_exchange_strong(seen, kGone, std::memory_order_acq_rel)) continue;
      table.count.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  std::atomic<uint8_t>* filter_ = nullptr;
  std::atomic<Table*> tables_[kTables]{};
  std::atomic<uint32_t> newest_{0};
};

}  // namespace heaptap::agent
