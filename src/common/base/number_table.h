// Hash table from 64-bit keys to numbers: flat, only grows. Used by one thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptap::base {

class NumberTable {
 public:
  NumberTable() : slots_(kFirstSlots) {}

  // Result for a missing key.
  static constexpr uint32_t kNone = UINT32_MAX;
  [[nodiscard]] uint32_t find(uint64_t key) const {
    for (size_t at = hash_of(key);; ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.number_plus_one == 0) return kNone;
      if (slot.key == key) return slot.number_plus_one - 1;
    }
  }

  // The key must not be present; `number` is less than kNone.
  void add(uint64_t key, uint32_t number) {
    if (count_ * 2 >= slots_.size()) grow();
    place({key, number + 1});
    ++count_;
  }

  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.number_plus_one != 0) visit(slot.key, slot.number_plus_one - 1);
    }
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t number_plus_one = 0;
  };
  static constexpr size_t kFirstSlots = 1024;

  static uint32_t hash_of(uint64_t key) { return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15u) >> 32); }

  void place(const Slot& slot) {
    size_t at = hash_of(slot.key);
    while (slots_[at & (slots_.size() - 1)].number_plus_one != 0) ++at;
    slots_[at & (slots_.size() - 1)] = slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number_plus_one != 0) place(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace heaptap::base
