// How a thread's stacks left its last one, and what they then were called: programs go back and forth between a few ways that
// lead from one function to the allocator. What is kept is the numbers of stacks, and apart from them, since many stacks end
// in the same way, the tips: the innermost frames as they lie in memory.
#pragma once
#include <stdint.h>

#include "agent/words.h"

namespace heaptap::agent {

// The innermost frames of a stack, relative to the place of the first one's return address. Distances are upwards from there.
struct Tip {
  static constexpr uint32_t kMostInner = 8;
  static constexpr uint32_t kMostPointers = 2;

  // A frame pointer by way of which a frame was found.
  struct Pointer {
    uint32_t slot;  // the distance of where it was read from; 0: it is the hook's
    uint32_t distance;
  };

  uint32_t serial;   // no two that were ever kept have the same; 0: none
  uint32_t below;    // the distance of the frame that they are on
  uint32_t fp_slot;  // and of where this frame's frame pointer was read from; 0: it is the hook's
  uint16_t inner_count;
  uint16_t pointer_count;
  uintptr_t key;                     // return address of the first one
  uintptr_t inner[kMostInner];       // of the others, from the inside outwards
  uint16_t inner_slots[kMostInner];  // their distances, in words
  Pointer pointers[kMostPointers];
  uint64_t reserved;  // to two lines of a cache

  // Whether it is in memory at `slot`, which is that far below the frame that it would be on.
  [[nodiscard]] __attribute__((always_inline)) bool stands(uintptr_t slot, uintptr_t hook_fp) const {
    uintptr_t changes = 0;
    for (uint32_t i = 0; i < inner_count; ++i)
      changes |= load_word(slot + inner_slots[i] * sizeof(uintptr_t)) ^ inner[i];
    for (uint32_t i = 0; i < pointer_count; ++i) {
      const uintptr_t pointer = pointers[i].slot != 0 ? load_word(slot + pointers[i].slot) : hook_fp;
      changes |= pointer ^ (slot + pointers[i].distance);
    }
    return changes == 0;
  }
  // The next frame outwards. False: it is too far away.
  bool add_inner(uintptr_t slot, uintptr_t inner_slot, uintptr_t return_address) {
    const uintptr_t words = (inner_slot - slot) / sizeof(uintptr_t);
    if (words > UINT16_MAX) return false;
    inner[inner_count] = return_address;
    inner_slots[inner_count++] = static_cast<uint16_t>(words);
    return true;
  }
  // False: there are too many, or it points downwards.
  bool add_pointer(uintptr_t slot, uintptr_t from, uintptr_t pointer) {
    const uintptr_t distance = pointer - slot;
    const Pointer added{from != 0 ? static_cast<uint32_t>(from - slot) : 0, static_cast<uint32_t>(distance)};
    if (pointer_count > 0 && pointers[pointer_count - 1].slot == added.slot) return true;
    if (pointer_count == kMostPointers || distance > UINT32_MAX) return false;
    pointers[pointer_count++] = added;
    return true;
  }
  [[nodiscard]] bool is(const Tip& other) const {
    if (key != other.key || below != other.below || fp_slot != other.fp_slot || inner_count != other.inner_count ||
        pointer_count != other.pointer_count) {
      return false;
    }
    for (uint32_t i = 0; i < inner_count; ++i) {
      if (inner[i] != other.inner[i] || inner_slots[i] != other.inner_slots[i]) return false;
    }
    for (uint32_t i = 0; i < pointer_count; ++i) {
      if (pointers[i].slot != other.pointers[i].slot || pointers[i].distance != other.pointers[i].distance)
        return false;
    }
    return true;
  }
};
static_assert(sizeof(Tip) == 128);

// A stack's number: that of the stack `from` without its `dropped` innermost frames, and with the tip on it.
struct Branch {
  uint32_t from;
  uint32_t number;
  uint32_t serial;  // the tip's; 0: it has none yet
  uint16_t tip;     // its place
  uint16_t dropped;
};

class Branches {
 public:
  // The branch by which a stack may have left the stack `from`: there the innermost frame's return address is `key`, and
  // `word` is in the place of the next frame of the last stack, or 0 if that place isn't part of the stack. It has to be
  // proven: by stands() of its tip, and by where the frame is that the tip is on. Null: none is known.
  [[nodiscard]] __attribute__((always_inline)) const Branch* find(uint32_t from, uintptr_t slot, uintptr_t key,
                                                                  uintptr_t word) const {
    const Branch& branch = branches_[index(from, slot, key, word)];
    return branch.from == from && branch.serial != 0 && tips_[branch.tip].serial == branch.serial ? &branch : nullptr;
  }
  [[nodiscard]] const Tip& tip(const Branch& branch) const { return tips_[branch.tip]; }

  // `tip.serial` is 0 yet. A tip that isn't known is kept only once a branch with it comes again.
  void add(uint32_t from, uintptr_t slot, uintptr_t word, uint32_t dropped, const Tip& tip, uint32_t number) {
    Branch* branch = &branches_[index(from, slot, tip.key, word)];
    const bool comes_again = branch->from == from && branch->number == number;
    if (!comes_again) {
      if (branch->serial != 0 && ++displaced_ > kDisplacedForEach * mask_ && mask_ < kMost - 1) [[unlikely]] {
        mask_ = mask_ * 2 + 1;
        displaced_ = 0;
        branch = &branches_[index(from, slot, tip.key, word)];
      }
      *branch = {from, number, 0, 0, 0};
    }
    const uint32_t place = place_for(tip);
    if (tips_[place].serial == 0 || !tips_[place].is(tip)) {
      if (!comes_again) return;
      keep(tip, tips_[place]);
    }
    branch->tip = static_cast<uint16_t>(place);
    branch->dropped = static_cast<uint16_t>(dropped);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    branch->serial = tips_[place].serial;
  }

  void forget() {
    if (last_serial_ == 0) return;
    for (uint32_t i = 0; i <= mask_; ++i) branches_[i] = {};
    for (uint32_t i = 0; i <= tip_mask(); ++i) tips_[i].serial = 0;
    last_serial_ = 0;
  }

  // Forgets them all, and takes no more memory than a thread begins with from now on.
  void begin() {
    forget();
    mask_ = kFew - 1;
    displaced_ = 0;
  }

 private:
  static constexpr uint32_t kFew = 256;
  static constexpr uint32_t kMost = 8192;
  static constexpr uint32_t kForEachTip = 4;
  static constexpr uint32_t kDisplacedForEach = 2;
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;

  [[nodiscard]] uint32_t tip_mask() const { return (mask_ + 1) / kForEachTip - 1; }
  [[nodiscard]] uint32_t index(uint32_t from, uintptr_t slot, uintptr_t key, uintptr_t word) const {
    const uint64_t hash = (key ^ slot << 16 ^ uint64_t{from} << 40) * kFactor;
    return static_cast<uint32_t>((hash ^ hash >> 29 ^ word) * kFactor >> 40) & mask_;
  }

  [[nodiscard]] uint32_t place_for(const Tip& tip) const {
    uint64_t hash = tip.key ^ uint64_t { tip.below } << 48;
    for (uint32_t i = 0; i < tip.inner_count; ++i) hash = (hash ^ hash >> 31 ^ tip.inner[i]) * kFactor;
    return static_cast<uint32_t>(hash * kFactor >> 40) & tip_mask();
  }

  // A signal handler may leave this by longjmp.
  void keep(const Tip& tip, Tip& place) {
    if (last_serial_ == UINT32_MAX) [[unlikely]]
      forget();
    place.serial = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    place = tip;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    place.serial = ++last_serial_;
  }

  uint32_t mask_ = kFew - 1;
  uint32_t displaced_ = 0;  // since there were that many places
  uint32_t last_serial_ = 0;
  Branch branches_[kMost] = {};
  alignas(sizeof(Tip)) Tip tips_[kMost / kForEachTip] = {};
};

}  // namespace heaptap::agent
