// How a thread's stacks left its last one: programs go back and forth between a few ways that lead from one function to the
// allocator. What is kept are these ways, the tips: the innermost frames as they lie in memory; and apart from them, since
// many stacks end in the same way, what the stacks that they make are called.
#pragma once
#include <stdint.h>

#include "agent/core/kernel.h"
#include "agent/core/pieces.h"
#include "agent/core/words.h"

namespace heaptap::agent {

// The innermost frames of a stack, relative to the place of the first one's return address. Distances are upwards from there,
// in words.
struct alignas(64) Tip {
  static constexpr uint32_t kMostInner = 12;
  static constexpr uint32_t kMostPointers = 2;
  static constexpr uint32_t kDistanceShift = 48;

  // A frame pointer by way of which a frame was found, or a stack pointer that such a frame's function had kept.
  struct Pointer {
    uint16_t slot;  // the distance of where it was read from; 0: it is the hook's
    uint16_t distance;
  };

  uint32_t serial;   // no two that were ever kept have the same; 0: none
  uint32_t seen;     // a mark of the tip that came last at this place without being kept
  uintptr_t key;     // return address of the first one
  uint16_t below;    // the distance of the frame that they are on
  uint16_t fp_slot;  // and of where this frame's frame pointer was read from; 0: it is the hook's
  uint16_t dropped;  // so many frames of the last stack, unchanged in memory, are further in than this frame
  uint8_t inner_count;
  uint8_t pointer_count;
  Pointer pointers[kMostPointers];
  uintptr_t inner[kMostInner];  // return addresses of the others, from the inside outwards, above them their distances

  [[nodiscard]] uintptr_t inner_key(uint32_t index) const { return inner[index] << 16 >> 16; }

  // Whether it is in memory at `slot`, which is that far below the frame that it would be on.
  [[nodiscard]] __attribute__((always_inline)) bool stands(uintptr_t slot, uintptr_t hook_fp) const {
    uintptr_t changes = 0;
    for (uint32_t i = 0; i < inner_count; ++i)
      changes |= (load_word(at(slot, inner[i] >> kDistanceShift)) ^ inner[i]) << 16;
    for (uint32_t i = 0; i < pointer_count; ++i) {
      const uintptr_t pointer = pointers[i].slot != 0 ? load_word(at(slot, pointers[i].slot)) : hook_fp;
      changes |= pointer ^ at(slot, pointers[i].distance);
    }
    return changes == 0;
  }
  static uintptr_t at(uintptr_t slot, uintptr_t distance) { return slot + distance * sizeof(uintptr_t); }

  // The frame that they are on, whose frame pointer was read from `from`, 0 if it is the hook's. False: it is too far away,
  // or that place isn't below the frame, and so maybe not on its stack.
  bool put_on(uintptr_t slot, uintptr_t outer_slot, uintptr_t from) {
    return set_distance(below, slot, outer_slot) && (from == 0 || set_place(fp_slot, slot, from));
  }
  // The next frame outwards. False: it is too far away.
  bool add_inner(uintptr_t slot, uintptr_t inner_slot, uintptr_t return_address) {
    uint16_t distance = 0;
    if (!set_distance(distance, slot, inner_slot)) return false;
    inner[inner_count++] = return_address | uintptr_t{distance} << kDistanceShift;
    return true;
  }
  // Behind put_on(). False: there are too many, or it is or points elsewhere.
  bool add_pointer(uintptr_t slot, uintptr_t from, uintptr_t pointer) {
    Pointer added{0, 0};
    if ((from != 0 && !set_place(added.slot, slot, from)) || !set_distance(added.distance, slot, pointer)) return false;
    for (uint32_t i = 0; i < pointer_count; ++i) {
      if (pointers[i].slot == added.slot) return true;
    }
    if (pointer_count == kMostPointers) return false;
    pointers[pointer_count++] = added;
    return true;
  }

 private:
  static bool set_distance(uint16_t& distance, uintptr_t slot, uintptr_t to) {
    const uintptr_t words = (to - slot) / sizeof(uintptr_t);
    distance = static_cast<uint16_t>(words);
    return at(slot, words) == to && words <= UINT16_MAX;
  }
  [[nodiscard]] bool set_place(uint16_t& distance, uintptr_t slot, uintptr_t at_slot) const {
    return set_distance(distance, slot, at_slot) && distance != 0 && distance < below;
  }
};
static_assert(sizeof(Tip) == 128);

// Where a tip is looked for. What is in here tells tips apart, it proves nothing.
struct TipPlace {
  uintptr_t key;       // return address of the innermost frame
  uintptr_t distance;  // from its place to that of the innermost frame of the last stack that is unchanged
  uintptr_t word;      // what is now in the place of the next one, if that is part of the stack, else 0
};

// Places for entries that displace each other. When many do, it makes room for more, and begins anew: first for kMore, in memory that
// is kept for whoever has this after the thread, from there on for twice as many. Lives in zeroed memory; a signal handler may
// leave anything here by longjmp.
template <typename Entry, uint32_t kFew, uint32_t kMore, uint32_t kMost>
struct PlaceTable {
  static constexpr uint32_t kDisplacedForEach = 2;

  using Few = Entry[kFew];

  Entry* entries;
  Entry* more;  // kMore of them; null: they were never needed
  uint32_t mask;
  uint32_t displaced;  // since there were that many places

  void begin(Few& few) {
    if (mask >= kMore) kernel::unmap(entries, sizeof(Entry) * (mask + 1));
    mask = kFew - 1;
    entries = few;
    displaced = 0;
  }
  void note_displaced() {
    if (++displaced > kDisplacedForEach * mask && mask < kMost - 1) [[unlikely]]
      grow();
  }

 private:
  __attribute__((noinline)) void grow() {
    displaced = 0;
    const uint32_t old_mask = mask;
    auto* const old = entries;
    const uint32_t count = old_mask < kFew ? kMore : old_mask * 2 + 2;
    auto* const larger = count == kMore ? take_more() : static_cast<Entry*>(kernel::map_memory(sizeof(Entry) * count));
    if (larger == nullptr) return;
    mask = kFew - 1;  // there are so many in each of the two
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    entries = larger;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    mask = count - 1;
    if (old_mask >= kMore) kernel::unmap(old, sizeof(Entry) * (old_mask + 1));
  }
  // Zeroed. Not a mapping of its own: a process may have 65,530, and threads are many.
  Entry* take_more() {
    if (more == nullptr) {
      more = static_cast<Entry*>(g_pieces.take(sizeof(Entry) * kMore));
    } else {
      __builtin_memset(more, 0, sizeof(Entry) * kMore);
    }
    return more;
  }
};

class Branches {
 public:
  // The tip by which a stack may have left the last one. That it did has to be proven: by stands(), and by where the frame is
  // that it is on. Null: none is known.
  // There are kWays to look.
  static constexpr uint32_t kWays = 2;
  [[nodiscard]] __attribute__((always_inline)) const Tip* find_tip(const TipPlace& place, uint32_t way) const {
    const Tip& tip = tips_.entries[index(place) ^ way];
    return tip.serial != 0 && tip.key == place.key ? &tip : nullptr;
  }

  // The number of the stack that the tip makes on the stack `from`; 0: not known.
  [[nodiscard]] __attribute__((always_inline)) uint32_t find_number(uint32_t from, const Tip& tip) const {
    const Branch& branch = branches_.entries[index(from, tip.serial)];
    return branch.from == from && branch.tip == tip.serial ? branch.number : 0;
  }
  void add_number(uint32_t from, const Tip& tip, uint32_t number) {
    if (branches_.entries[index(from, tip.serial)].tip != 0) branches_.note_displaced();
    Branch* branch = &branches_.entries[index(from, tip.serial)];
    branch->tip = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    branch->from = from;
    branch->number = number;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    branch->tip = tip.serial;
  }

  // Keeps a tip, whose `serial` is 0 yet, when it comes for the second time.
  void add_tip(const TipPlace& place, const Tip& tip) {
    const uint32_t mark = mark_of(tip);
    uint32_t& seen = tips_.entries[index(place)].seen;
    if (seen != mark) {
      seen = mark;
      return;
    }
    if (tips_.entries[index(place)].serial != 0) tips_.note_displaced();
    keep(tip, tips_.entries[index(place) ^ last_serial_ % kWays]);
  }

  void forget() {
    if (last_serial_ == 0) return;
    for (uint32_t i = 0; i <= branches_.mask; ++i) branches_.entries[i].tip = 0;
    for (uint32_t i = 0; i <= tips_.mask; ++i) tips_.entries[i].serial = 0;
    last_serial_ = 0;
  }

  // Forgets them all, and takes no more memory than a thread begins with from now on.
  void begin() {
    branches_.begin(few_branches_);
    tips_.begin(few_tips_);
    forget();
  }

 private:
  // A stack's number: of `from` with the tip of that serial on it.
  struct Branch {
    uint32_t from;
    uint32_t tip;  // 0: none
    uint32_t number;
  };
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;

  [[nodiscard]] uint32_t index(const TipPlace& place) const {
    const uint64_t hash = (place.key ^ place.distance << 45) * kFactor;
    return static_cast<uint32_t>((hash ^ hash >> 29 ^ place.word) * kFactor >> 40) & tips_.mask;
  }
  [[nodiscard]] uint32_t index(uint32_t from, uint32_t serial) const {
    return static_cast<uint32_t>((uint64_t{from} << 32 | serial) * kFactor >> 40) & branches_.mask;
  }
  static uint32_t mark_of(const Tip& tip) {
    uint64_t hash = tip.key ^ uint64_t { tip.below } << 45 ^ tip.dropped;
    for (uint32_t i = 0; i < tip.inner_count; ++i) hash = (hash ^ hash >> 31 ^ tip.inner[i]) * kFactor;
    return static_cast<uint32_t>(hash * kFactor >> 32) | 1;
  }

  // A signal handler may leave this by longjmp.
  void keep(const Tip& tip, Tip& place) {
    if (last_serial_ == UINT32_MAX) [[unlikely]]
      forget();
    place.serial = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const uint32_t seen = place.seen;
    place = tip;
    place.seen = seen;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    place.serial = ++last_serial_;
  }

  using BranchTable = PlaceTable<Branch, 64, 256, 32768>;
  using TipTable = PlaceTable<Tip, 16, 64, 4096>;

  BranchTable branches_;
  TipTable tips_;
  uint32_t last_serial_ = 0;
  BranchTable::Few few_branches_;
  TipTable::Few few_tips_;
};

}  // namespace heaptap::agent
