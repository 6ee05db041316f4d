// Lock-free hash table that only grows. A slot that is filled while another thread grows the table may be missing
// afterwards and be filled again: users must tolerate duplicates. In return no thread ever waits, not even a signal
// handler that interrupted the growing.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <concepts>
#include <type_traits>

#include "agent/core/kernel.h"
#include "agent/core/leftovers.h"
#include "agent/core/own_address.h"
#include "agent/core/pages.h"
#include "common/wire/atomic_64.h"

namespace heaptap::agent {

// A slot is empty when all its bytes are zero.
template <typename Slot>
concept TableSlot = requires(Slot& slot, const Slot& other, const typename Slot::Value& value) {
  { other.is_empty() } -> std::same_as<bool>;
  { slot.claim(value) } -> std::same_as<bool>;  // fills the slot if it is still empty
  slot.copy(other);                             // into a slot that no other thread can reach
};

// Slot with a key that isn't 0, and a word for it, which its claimer stores next: 0 until then.
template <typename Word>
struct KeySlot {
  using Value = uint64_t;
  wire::Atomic64 key;
  std::conditional_t<sizeof(Word) == sizeof(uint64_t), wire::Atomic64, std::atomic<Word>> word;

  [[nodiscard]] bool is(uint64_t other) const { return key.load(std::memory_order_relaxed) == other; }
  [[nodiscard]] Word read() const { return word.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_empty() const { return is(0); }
  bool claim(uint64_t value) {
    uint64_t empty = 0;
    return key.compare_exchange_strong(empty, value, std::memory_order_acq_rel);
  }
  void copy(const KeySlot& other) {
    key.store(other.key.load(std::memory_order_relaxed), std::memory_order_relaxed);
    word.store(other.read(), std::memory_order_relaxed);
  }
};

template <TableSlot Slot>
class GrowingTable {
 public:
  static constexpr uint64_t kNoHash = ~uint64_t{0};

  // Must be called before use, once a session.
  bool start(uint32_t capacity) {
    count_.store(0, std::memory_order_relaxed);
    growing_.store(0, std::memory_order_relaxed);
    View* view = make_view(capacity);
    view_.store(view, std::memory_order_release);
    return view != nullptr;
  }

  // The memory of the table, as a mapping; empty before start().
  [[nodiscard]] MappedPart memory() const {
    View* view = view_.load(std::memory_order_acquire);
    return view != nullptr ? MappedPart{view, own_address(view->bytes)} : MappedPart{};
  }

  [[nodiscard]] uint32_t count() const { return count_.load(std::memory_order_relaxed); }

  // The first slot for which matches(slot) holds among those with this hash, or null.
  template <typename Matches>
  Slot* find(uint32_t hash, const Matches& matches) const {
    View* view = view_.load(std::memory_order_acquire);  // pairs with the release in grow()
    for (uint32_t at = hash & view->mask;; at = (at + 1) & view->mask) {
      Slot& slot = view->slots[at];
      if (matches(slot)) return &slot;
      if (slot.is_empty()) return nullptr;
    }
  }

  // Prefetches for a find() with this hash.
  void expect(uint32_t hash) const {
    const View* view = view_.load(std::memory_order_acquire);
    __builtin_prefetch(&view->slots[hash & view->mask]);
  }

  // Fills a slot with the value unless a matching one exists by now; returns the slot in use. Null: no room and no
  // memory. `hashes()` makes the function that maps slots to hashes (kNoHash: unknown), should the table have to grow.
  template <typename Matches, typename Hashes>
  Slot* insert(const typename Slot::Value& value, uint32_t hash, const Matches& matches, const Hashes& hashes) {
    View* view = view_.load(std::memory_order_acquire);
    if (count_.load(std::memory_order_relaxed) >= view->mask - view->mask / 4) {
      grow(view, hashes);
      view = view_.load(std::memory_order_acquire);
      if (count_.load(std::memory_order_relaxed) >= view->mask - view->mask / 16) return nullptr;
    }
    for (uint32_t at = hash & view->mask;; at = (at + 1) & view->mask) {
      Slot& slot = view->slots[at];
      if (slot.is_empty() && slot.claim(value)) {
        count_.fetch_add(1, std::memory_order_relaxed);
        return &slot;
      }
      if (matches(slot)) return &slot;
    }
  }

  template <typename Visit>
  void for_each(const Visit& visit) {
    View* view = view_.load(std::memory_order_acquire);
    for (uint32_t at = 0; at <= view->mask; ++at) {
      if (!view->slots[at].is_empty()) visit(view->slots[at]);
    }
  }

 private:
  struct View {
    uint32_t mask;
    uint32_t reserved;
    uint64_t bytes;
    Slot slots[1];
  };

  static View* make_view(uint32_t capacity) {
    const size_t bytes = sizeof(View) + sizeof(Slot) * capacity;
    auto* view = static_cast<View*>(kernel::map_memory(bytes));
    if (view != nullptr) {
      view->mask = capacity - 1;
      view->bytes = bytes;
    }
    return view;
  }

  template <typename Hashes>
  void grow(View* old, const Hashes& hashes) {
    if (growing_.exchange(1, std::memory_order_acquire) != 0) return;  // another thread is growing it
    if (view_.load(std::memory_order_acquire) == old) {
      if (View* bigger = make_view((old->mask + 1) * 2)) {
        copy_slots(old, bigger, hashes());
        view_.store(bigger, std::memory_order_release);
        give_back(old);
      }
    }
    growing_.store(0, std::memory_order_release);
  }

  template <typename HashOf>
  void copy_slots(View* from, View* to, const HashOf& hash_of) {
    uint32_t copied = 0;
    for (uint32_t i = 0; i <= from->mask; ++i) {
      const Slot& slot = from->slots[i];
      if (slot.is_empty()) continue;
      const uint64_t hash = hash_of(slot);
      if (hash == kNoHash) continue;  // one of many for which any place would be the same
      uint32_t at = static_cast<uint32_t>(hash) & to->mask;
      while (!to->slots[at].is_empty()) at = (at + 1) & to->mask;
      to->slots[at].copy(slot);
      ++copied;
    }
    count_.store(copied, std::memory_order_relaxed);
  }

  // Frees the memory but keeps the addresses reserved: a thread that still reads the old view finds it empty, which is harmless.
  static void give_back(View* view) {
    const uintptr_t first = whole_pages(reinterpret_cast<uintptr_t>(view) + page_bytes());
    const uintptr_t end = page_begin(reinterpret_cast<uintptr_t>(view) + own_address(view->bytes));
    if (first < end) kernel::advise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
  }

  std::atomic<View*> view_{nullptr};
  std::atomic<uint32_t> count_{0};
  std::atomic<uint32_t> growing_{0};
};

}  // namespace heaptap::agent
