// A hash table of words that threads read and fill without locks, and that only ever grows. Zero is the empty word.
// A word that is inserted while another thread grows the table may be missing afterwards, so that it is inserted a second
// time: users of this table must live with doubles. In return nobody ever waits, also not a signal handler that
// interrupted the growing.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/kernel.h"

namespace heaptap::agent {

template <typename Word>
class GrowingTable {
 public:
  // Must be called before use, once a session.
  bool start(uint32_t capacity) {
    count_.store(0, std::memory_order_relaxed);
    growing_.store(0, std::memory_order_relaxed);
    View* view = make_view(capacity);
    view_.store(view, std::memory_order_release);
    return view != nullptr;
  }

  // The first word for which matches(word) holds among those with this hash, or 0.
  template <typename Matches>
  Word find(uint32_t hash, const Matches& matches) const {
    const View* view = view_.load(std::memory_order_acquire);  // pairs with the release in grow()
    for (uint32_t at = hash & view->mask;; at = (at + 1) & view->mask) {
      const Word word = view->words[at].load(std::memory_order_acquire);  // pairs with the CAS in insert()
      if (word == 0 || matches(word)) return word;
    }
  }

  // Adds the word, unless one that matches is there by now; gives the one that stands. 0: no room and no memory.
  template <typename Matches, typename HashOf>
  Word insert(Word word, uint32_t hash, const Matches& matches, const HashOf& hash_of) {
    View* view = view_.load(std::memory_order_acquire);
    if (count_.load(std::memory_order_relaxed) >= view->mask - view->mask / 4) {
      grow(view, hash_of);
      view = view_.load(std::memory_order_acquire);
      if (count_.load(std::memory_order_relaxed) >= view->mask - view->mask / 16) return 0;
    }
    for (uint32_t at = hash & view->mask;; at = (at + 1) & view->mask) {
      Word seen = view->words[at].load(std::memory_order_acquire);
      if (seen == 0 && view->words[at].compare_exchange_strong(seen, word, std::memory_order_acq_rel)) {
        count_.fetch_add(1, std::memory_order_relaxed);
        return word;
      }
      if (matches(seen)) return seen;
    }
  }

  // change(word) for every word: what it returns replaces the word.
  template <typename Change>
  void for_each(const Change& change) {
    View* view = view_.load(std::memory_order_acquire);
    for (uint32_t at = 0; at <= view->mask; ++at) {
      Word word = view->words[at].load(std::memory_order_acquire);
      if (word == 0) continue;
      const Word changed = change(word);
      if (changed != word) view->words[at].compare_exchange_strong(word, changed, std::memory_order_acq_rel);
    }
  }

 private:
  struct View {
    uint32_t mask;
    uint32_t reserved;
    uint64_t bytes;
    std::atomic<Word> words[1];
  };

  static View* make_view(uint32_t capacity) {
    const size_t bytes = sizeof(View) + sizeof(std::atomic<Word>) * capacity;
    auto* view = static_cast<View*>(kernel::map_memory(bytes));
    if (view != nullptr) {
      view->mask = capacity - 1;
      view->bytes = bytes;
    }
    return view;
  }

  template <typename HashOf>
  void grow(View* old, const HashOf& hash_of) {
    if (growing_.exchange(1, std::memory_order_acquire) != 0) return;  // somebody is at it
    if (view_.load(std::memory_order_acquire) == old) {
      if (View* bigger = make_view((old->mask + 1) * 2)) {
        copy_words(old, bigger, hash_of);
        view_.store(bigger, std::memory_order_release);
        give_back(old);
      }
    }
    growing_.store(0, std::memory_order_release);
  }

  template <typename HashOf>
  void copy_words(View* from, View* to, const HashOf& hash_of) {
    uint32_t copied = 0;
    for (uint32_t i = 0; i <= from->mask; ++i) {
      const Word word = from->words[i].load(std::memory_order_acquire);
      if (word == 0) continue;
      uint32_t at = hash_of(word) & to->mask;
      while (to->words[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & to->mask;
      to->words[at].store(word, std::memory_order_relaxed);
      ++copied;
    }
    count_.store(copied, std::memory_order_relaxed);
  }

  // The memory goes, the addresses stay: a thread that still looks into the old view finds it empty, which is true enough.
  static void give_back(View* view) {
    const uintptr_t first = (reinterpret_cast<uintptr_t>(view) + 4096 + 4095) & ~uintptr_t{4095};
    const uintptr_t end = (reinterpret_cast<uintptr_t>(view) + view->bytes) & ~uintptr_t{4095};
    if (first < end) kernel::advise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
  }

  std::atomic<View*> view_{nullptr};
  std::atomic<uint32_t> count_{0};
  std::atomic<uint32_t> growing_{0};
};

}  // namespace heaptap::agent
