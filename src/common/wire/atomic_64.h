// Atomic number of 64 bits, which threads, signal handlers and processes share. Freestanding, and without a lock on every CPU: the
// target may end, or be interrupted by a handler that changes the same number, anywhere.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <type_traits>

namespace heaptap::wire {

// The number for CPUs whose atomic operations have 32 bits at most. Its value is in one of two places, and changes by a step of
// `state_` from that place to the other, which has been written before:
//
//   state_  ┌ claims (30 bits) ┬ claimed ┬ place ┐      places_[2][4]  ┌ tag (16) ┬ a quarter of the value (16) ┐
//
//   look    state S; the words of its place; S again, or all of it is repeated
//   claim   S ▸ S + 1 claim, claimed      only if it's still S: the value that was seen is the value until the claim ends
//   write   the four words of the other place, each only while the state is that of the claim
//   finish  S + 1 claim, claimed ▸ S + 1 claim, the other place
//
// Who finds the number claimed waits a little, and then claims it as well: the earlier claim has come to nothing, its owner begins
// again if it still exists. So an owner that was killed or stopped keeps nobody waiting, nor does the code that a handler interrupted.
// A late owner can't write behind a later one: it exchanges a word that it read before it saw that its claim stands, all words have the
// tag of the claim that wrote them, and the later one has written each of them. (Tags come again after 65536 claims, and states after
// 2^30: one of so many has to fall into those two instructions.)
//
// All operations are sequentially consistent, whatever order is given.
class SplitNumber {
 public:
  static constexpr bool is_always_lock_free = true;

  constexpr SplitNumber() = default;
  constexpr SplitNumber(uint64_t value)  // NOLINT(google-explicit-constructor): as std::atomic
      : places_{{word_of(value, 0, 0), word_of(value, 1, 0), word_of(value, 2, 0), word_of(value, 3, 0)}, {}} {}
  SplitNumber(const SplitNumber&) = delete;
  SplitNumber& operator=(const SplitNumber&) = delete;
  ~SplitNumber() = default;

  [[nodiscard]] uint64_t load(std::memory_order /*order*/ = std::memory_order_seq_cst) const { return look().value; }
  void store(uint64_t value, std::memory_order /*order*/ = std::memory_order_seq_cst) { exchange(value); }
  uint64_t exchange(uint64_t value, std::memory_order /*order*/ = std::memory_order_seq_cst) {
    return change([value](uint64_t) { return value; });
  }
  uint64_t fetch_add(uint64_t amount, std::memory_order /*order*/ = std::memory_order_seq_cst) {
    return change([amount](uint64_t value) { return value + amount; });
  }
  uint64_t fetch_sub(uint64_t amount, std::memory_order order = std::memory_order_seq_cst) {
    return fetch_add(~amount + 1, order);
  }
  uint64_t fetch_or(uint64_t bits, std::memory_order /*order*/ = std::memory_order_seq_cst) {
    return change([bits](uint64_t value) { return value | bits; });
  }
  uint64_t fetch_and(uint64_t bits, std::memory_order /*order*/ = std::memory_order_seq_cst) {
    return change([bits](uint64_t value) { return value & bits; });
  }

  bool compare_exchange_strong(uint64_t& expected, uint64_t value,
                               std::memory_order /*order*/ = std::memory_order_seq_cst,
                               std::memory_order /*otherwise*/ = std::memory_order_seq_cst) {
    while (true) {
      const Seen seen = look();
      if (seen.value != expected) {
        expected = seen.value;
        return false;
      }
      if (replace(seen, value)) return true;
    }
  }
  bool compare_exchange_weak(uint64_t& expected, uint64_t value, std::memory_order order = std::memory_order_seq_cst,
                             std::memory_order otherwise = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, value, order, otherwise);
  }

 private:
  static constexpr uint32_t kWords = 4;
  static constexpr uint32_t kPlace = 1;
  static constexpr uint32_t kClaimed = 2;
  static constexpr uint32_t kOneClaim = 4;
  static constexpr uint32_t kPatience = 1000;  // loads, before another's claim is taken for one that won't end
  // It changed during each of so many: a program writes to this memory by mistake, and no value makes sense. Its collector goes on.
  static constexpr uint32_t kMaxLooks = 1u << 20;

  struct Seen {
    uint32_t state;
    uint64_t value;
  };

  static constexpr uint32_t word_of(uint64_t value, uint32_t index, uint32_t state) {
    return state / kOneClaim << 16 | static_cast<uint32_t>(value >> (16 * index) & 0xffff);
  }

  [[nodiscard]] Seen look() const {
    for (uint32_t looks = 1;; ++looks) {
      const uint32_t state = state_.load(std::memory_order_seq_cst);
      Seen seen{.state = state, .value = 0};
      for (uint32_t i = 0; i < kWords; ++i)
        seen.value |= uint64_t{places_[state & kPlace][i].load(std::memory_order_relaxed) & 0xffff} << (16 * i);
      std::atomic_thread_fence(std::memory_order_acquire);  // the words are read before the state is read again
      if (state_.load(std::memory_order_relaxed) == state || looks == kMaxLooks) return seen;
    }
  }

  // Waits while it is claimed by another, but not for long.
  void let_finish(uint32_t state) const {
    if ((state & kClaimed) == 0) return;
    for (uint32_t i = 0; i < kPatience && state_.load(std::memory_order_relaxed) == state; ++i) {
    }
  }

  // False: it isn't what was seen any more, or others have claimed it; the value is unchanged.
  bool replace(const Seen& seen, uint64_t value) {
    let_finish(seen.state);
    const uint32_t claim = (seen.state + kOneClaim) | kClaimed;
    uint32_t state = seen.state;
    if (!state_.compare_exchange_strong(state, claim, std::memory_order_seq_cst)) return false;
    for (uint32_t i = 0; i < kWords; ++i) {
      if (!write(places_[(claim & kPlace) ^ kPlace][i], word_of(value, i, claim), claim)) return false;
    }
    state = claim;
    return state_.compare_exchange_strong(state, (claim & ~kClaimed) ^ kPlace, std::memory_order_seq_cst);
  }

  bool write(std::atomic<uint32_t>& word, uint32_t value, uint32_t claim) {
    uint32_t before = word.load(std::memory_order_acquire);  // before the claim is looked at
    while (state_.load(std::memory_order_relaxed) == claim) {
      // Behind the claim for all who see the word.
      if (word.compare_exchange_strong(before, value, std::memory_order_acq_rel, std::memory_order_acquire))
        return true;
    }
    return false;
  }

  template <typename Next>
  uint64_t change(const Next& next) {
    while (true) {
      const Seen seen = look();
      if (replace(seen, next(seen.value))) return seen.value;
    }
  }

  std::atomic<uint32_t> state_{0};
  std::atomic<uint32_t> places_[2][kWords]{};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(SplitNumber) == 36);

using Atomic64 = std::conditional_t<std::atomic<uint64_t>::is_always_lock_free, std::atomic<uint64_t>, SplitNumber>;

// Sizes of what has such numbers are given for CPUs where one takes eight bytes.
template <typename T>
constexpr bool has_size(size_t bytes) {
  return sizeof(Atomic64) != sizeof(uint64_t) || sizeof(T) == bytes;
}

}  // namespace heaptap::wire
