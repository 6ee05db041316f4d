// Cache of the suffixes in which a thread's stacks differ from its last one: programs alternate between a few call
// paths from one function to the allocator. Kept are the suffixes, the innermost frames as they lie in memory, and
// separately, since many stacks end in the same suffix, the numbers of the resulting stacks.
#pragma once
#include <stdint.h>

#include <type_traits>

#include "agent/core/kernel.h"
#include "agent/core/pieces.h"
#include "agent/core/string.h"
#include "common/arch/native.h"
#include "common/unwind/step.h"

namespace heaptap::agent {

inline constexpr bool kHasLinkRegister = unwind::kHasLinkRegister<arch::native::Unwinding>;

// Stack pointer of a suffix, for CPUs whose calls leave the return address in a register: its place says nothing then.
struct SuffixStackPointer {
  uintptr_t kept_sp;  // the distance of the stack pointer of the frame that a suffix's frames are called from
  void keep_sp(uintptr_t distance) { kept_sp = distance; }
  [[nodiscard]] uintptr_t outer_sp() const { return kept_sp; }
};
struct NoSuffixStackPointer {
  void keep_sp(uintptr_t /*distance*/) {}
  [[nodiscard]] static uintptr_t outer_sp() { return 0; }
};

// Innermost frames of a stack, relative to its base, the place of the first one's return address (CallStack::base_of). Distances are
// upwards from there, in words.
struct alignas(64) StackSuffix : std::conditional_t<kHasLinkRegister, SuffixStackPointer, NoSuffixStackPointer> {
  static constexpr uint32_t kMaxInner = kHasLinkRegister ? 11 : 12;
  static constexpr uint32_t kMaxPointers = 2;
  static constexpr uint32_t kDistanceShift = 48;

  // A frame pointer that led to a frame, or a stack pointer saved by such a frame's function.
  struct Pointer {
    uint16_t slot;  // the distance of the place that it was read from; 0: it is the hook's
    uint16_t distance;
  };

  uint32_t serial;   // unique among all kept suffixes; 0: none
  uint32_t seen;     // a mark of the last suffix at this place that wasn't kept
  uintptr_t key;     // return address of the first one
  uint16_t below;    // the distance of the frame that they are called from
  uint16_t fp_slot;  // and of where this frame's frame pointer was read from; 0: it is the hook's
  uint16_t dropped;  // number of frames of the last stack, unchanged in memory, that lie further in than this frame
  uint8_t inner_count;
  uint8_t pointer_count;
  Pointer pointers[kMaxPointers];
  // Return addresses of the others, from the inside outwards, with their distances in the upper bits.
  uint64_t inner[kMaxInner];

  [[nodiscard]] uint64_t inner_key(uint32_t index) const { return inner[index] << 16 >> 16; }

  // Whether it is in memory at `slot`, which is that far below the frame that it would be on.
  [[nodiscard]] __attribute__((always_inline)) bool stands(uintptr_t slot, uintptr_t hook_fp) const {
    uint64_t changes = 0;
    for (uint32_t i = 0; i < inner_count; ++i)
      changes |= load_word(at(slot, own_address(inner[i] >> kDistanceShift))) ^ inner[i];
    changes &= arch::native::Unwinding().address_mask() & wire::kCodeAddressMask;
    for (uint32_t i = 0; i < pointer_count; ++i) {
      const uintptr_t pointer = pointers[i].slot != 0 ? load_word(at(slot, pointers[i].slot)) : hook_fp;
      changes |= pointer ^ at(slot, pointers[i].distance);
    }
    return changes == 0;
  }
  static uintptr_t at(uintptr_t slot, uintptr_t distance) { return slot + distance * sizeof(uintptr_t); }

  // Sets the frame that they are on, whose frame pointer was read from `from`, 0 if it is the hook's. False: the frame
  // is too far away, or that place isn't below the frame, and so may not be on its stack.
  bool put_on(uintptr_t slot, const unwind::Frame& outer, uint64_t from) {
    keep_sp((own_address(outer.sp) - slot) / sizeof(uintptr_t));
    return set_distance(below, slot, outer.slot) && (from == 0 || set_place(fp_slot, slot, from));
  }
  // Adds the next frame outwards. False: it is too far away.
  bool add_inner(uintptr_t slot, uint64_t inner_slot, uint64_t return_address) {
    uint16_t distance = 0;
    if (!set_distance(distance, slot, inner_slot)) return false;
    inner[inner_count++] = return_address | uint64_t{distance} << kDistanceShift;
    return true;
  }
  // Call after put_on(). False: there are too many, or its place or value is out of range.
  bool add_pointer(uintptr_t slot, uint64_t from, uint64_t pointer) {
    Pointer added{0, 0};
    if ((from != 0 && !set_place(added.slot, slot, from)) || !set_distance(added.distance, slot, pointer)) return false;
    for (uint32_t i = 0; i < pointer_count; ++i) {
      if (pointers[i].slot == added.slot) return true;
    }
    if (pointer_count == kMaxPointers) return false;
    pointers[pointer_count++] = added;
    return true;
  }

 private:
  static bool set_distance(uint16_t& distance, uintptr_t slot, uint64_t to) {
    const uintptr_t words = (own_address(to) - slot) / sizeof(uintptr_t);
    distance = static_cast<uint16_t>(words);
    return at(slot, words) == to && words <= UINT16_MAX;
  }
  [[nodiscard]] bool set_place(uint16_t& distance, uintptr_t slot, uint64_t at_slot) const {
    return set_distance(distance, slot, at_slot) && distance != 0 && distance < below;
  }
};
static_assert(sizeof(StackSuffix) == 128);

// Lookup key of a suffix. Its fields distinguish suffixes, they prove nothing.
struct SuffixPlace {
  uintptr_t key;       // return address of the innermost frame
  uintptr_t distance;  // from its place to the place of the innermost unchanged frame of the last stack
  uintptr_t word;      // the current word in the place of the next one, if that is part of the stack, else 0
};

// Set-associative table whose entries displace each other. When many are displaced, it makes room for more and starts
// empty: first for kMore, in memory that is kept for reuse after the thread's end, then for twice as many each time.
// Lives in zeroed memory; a signal handler may leave any state here by longjmp.
template <typename Entry, uint32_t kFew, uint32_t kMore, uint32_t kMax>
struct PlaceTable {
  static constexpr uint32_t kDisplacedForEach = 2;

  using Few = Entry[kFew];

  Entry* entries;
  Entry* more;  // kMore of them; null: never needed
  uint32_t mask;
  uint32_t displaced;  // since the last change of size

  void begin(Few& few) {
    if (mask >= kMore) kernel::unmap(entries, sizeof(Entry) * (mask + 1));
    mask = kFew - 1;
    entries = few;
    displaced = 0;
  }
  void note_displaced() {
    if (++displaced > kDisplacedForEach * mask && mask < kMax - 1) [[unlikely]]
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
    mask = kFew - 1;  // so many in each of the two ways
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    entries = larger;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    mask = count - 1;
    if (old_mask >= kMore) kernel::unmap(old, sizeof(Entry) * (old_mask + 1));
  }
  // Zeroed. Not a separate mapping: a process may have 65,530, and threads are many.
  Entry* take_more() {
    if (more == nullptr) {
      more = static_cast<Entry*>(g_pieces.take(sizeof(Entry) * kMore));
    } else {
      __builtin_memset(more, 0, sizeof(Entry) * kMore);
    }
    return more;
  }
};

// Stacks of one frame, by the caller's return address.
class CallerCache {
 public:
  [[nodiscard]] __attribute__((always_inline)) uint32_t find(uintptr_t key) const {
    const Entry& entry = callers_.entries[index(key)];
    return entry.key == key ? entry.number : 0;
  }
  void add(uintptr_t key, uint32_t number) {
    if (callers_.entries[index(key)].key != 0) callers_.note_displaced();
    Entry& entry = callers_.entries[index(key)];
    entry.key = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    entry.number = number;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    entry.key = key;
  }
  void forget() {
    for (uint32_t i = 0; i <= callers_.mask; ++i) callers_.entries[i].key = 0;
  }
  void begin() {
    callers_.begin(few_);
    forget();
  }

 private:
  struct Entry {
    uintptr_t key;  // 0: none
    uint32_t number;
  };
  using Table = PlaceTable<Entry, 16, 256, 1024>;

  [[nodiscard]] uint32_t index(uintptr_t key) const {
    return static_cast<uint32_t>(key * 0x9e3779b97f4a7c15u >> 40) & callers_.mask;
  }

  Table callers_;
  Table::Few few_;
};

class SuffixCache {
 public:
  // The suffix by which a stack may have left the last one. It has to be proven: by stands(), and by the place of the
  // frame that it is on. Null: none is known. There are kAssociativity to try.
  static constexpr uint32_t kAssociativity = 2;
  [[nodiscard]] __attribute__((always_inline)) const StackSuffix* find_suffix(const SuffixPlace& place,
                                                                              uint32_t way) const {
    const StackSuffix& suffix = suffixes_.entries[index(place) ^ way];
    return suffix.serial != 0 && suffix.key == place.key ? &suffix : nullptr;
  }

  // The number of the stack that the suffix makes on top of `from`, a stack's or a prefix's number; 0: unknown.
  [[nodiscard]] __attribute__((always_inline)) uint32_t find_number(uint32_t from, const StackSuffix& suffix) const {
    const Divergence& divergence = divergences_.entries[index(from, suffix.serial)];
    return divergence.from == from && divergence.suffix == suffix.serial ? divergence.number : 0;
  }
  void add_number(uint32_t from, const StackSuffix& suffix, uint32_t number) {
    if (from != kPrefix) add(from, suffix.serial, number);
  }

  // A number for the frame with this code called from `from`, where that stack has no name: the same number is never given to
  // two, but one may come to have several. kPrefix: all are given.
  static constexpr uint32_t kPrefix = uint32_t{1} << 31;
  static constexpr bool is_prefix(uint32_t number) { return (number & kPrefix) != 0; }
  [[nodiscard]] uint32_t number_prefix(uint32_t from, uint32_t code) {
    const uint32_t step = code | kCodeStep;
    const Divergence& known = divergences_.entries[index(from, step)];
    if (known.from == from && known.suffix == step) return known.number;
    if (from == kPrefix || last_prefix_ == kPrefix - 1) [[unlikely]]
      return kPrefix;
    const uint32_t number = kPrefix | ++last_prefix_;
    add(from, step, number);
    return number;
  }

  // Keeps a suffix, whose `serial` is still 0, when it occurs for the second time.
  void add_suffix(const SuffixPlace& place, const StackSuffix& suffix) {
    const uint32_t mark = mark_of(suffix);
    uint32_t& seen = suffixes_.entries[index(place)].seen;
    if (seen != mark) {
      seen = mark;
      return;
    }
    if (suffixes_.entries[index(place)].serial != 0) suffixes_.note_displaced();
    keep(suffix, suffixes_.entries[index(place) ^ last_serial_ % kAssociativity]);
  }

  void forget() {
    if (last_serial_ == 0) return;
    for (uint32_t i = 0; i <= divergences_.mask; ++i) divergences_.entries[i].suffix = 0;
    for (uint32_t i = 0; i <= suffixes_.mask; ++i) suffixes_.entries[i].serial = 0;
    last_serial_ = 0;
  }

  // Forgets all entries; from now on takes only the memory that a thread begins with.
  void begin() {
    divergences_.begin(few_divergences_);
    suffixes_.begin(few_suffixes_);
    forget();
  }

 private:
  // Number of a stack: `from` with the suffix of that serial on top; or of a prefix: with one frame on top.
  struct Divergence {
    uint32_t from;
    uint32_t suffix;  // or a code, with kCodeStep; 0: none
    uint32_t number;
  };
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
  // Flag of a code in a divergence's `suffix`. Serials are smaller.
  static constexpr uint32_t kCodeStep = uint32_t{1} << 31;

  void add(uint32_t from, uint32_t suffix, uint32_t number) {
    if (divergences_.entries[index(from, suffix)].suffix != 0) divergences_.note_displaced();
    Divergence* divergence = &divergences_.entries[index(from, suffix)];
    divergence->suffix = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    divergence->from = from;
    divergence->number = number;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    divergence->suffix = suffix;
  }

  [[nodiscard]] uint32_t index(const SuffixPlace& place) const {
    const uint64_t hash = (place.key ^ uint64_t{place.distance} << 45) * kFactor;
    return static_cast<uint32_t>((hash ^ hash >> 29 ^ place.word) * kFactor >> 40) & suffixes_.mask;
  }
  [[nodiscard]] uint32_t index(uint32_t from, uint32_t serial) const {
    return static_cast<uint32_t>((uint64_t{from} << 32 | serial) * kFactor >> 40) & divergences_.mask;
  }
  static uint32_t mark_of(const StackSuffix& suffix) {
    uint64_t hash = suffix.key ^ uint64_t { suffix.below } << 45 ^ suffix.dropped;
    for (uint32_t i = 0; i < suffix.inner_count; ++i) hash = (hash ^ hash >> 31 ^ suffix.inner[i]) * kFactor;
    return static_cast<uint32_t>(hash * kFactor >> 32) | 1;
  }

  // A signal handler may leave this function by longjmp.
  void keep(const StackSuffix& suffix, StackSuffix& place) {
    if (last_serial_ == kCodeStep - 1) [[unlikely]]
      forget();
    place.serial = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const uint32_t seen = place.seen;
    place = suffix;
    place.seen = seen;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    place.serial = ++last_serial_;
  }

  using DivergenceTable = PlaceTable<Divergence, 64, 256, 32768>;
  using SuffixTable = PlaceTable<StackSuffix, 16, 64, 4096>;

  DivergenceTable divergences_;
  SuffixTable suffixes_;
  uint32_t last_serial_ = 0;
  uint32_t last_prefix_ = 0;
  DivergenceTable::Few few_divergences_;
  SuffixTable::Few few_suffixes_;
};

}  // namespace heaptap::agent
