// Table of the program's own stacks in the log (StackAreaEntry): lock-free and wait-free writes, also from signal
// handlers, and reads. Freestanding.
//
// A stack may be stored in one of a few entries, chosen by its address. Where these are full, the newest replaces another: it
// isn't known which stacks are in use, and if the program reports stacks repeatedly, the newest is the likeliest.
#pragma once
#include <stdint.h>

#include <atomic>

#include "common/wire/log.h"

namespace heaptap::wire {

// False: empty, or being written.
inline bool read_entry(const StackAreaEntry& entry, StackArea& area) {
  const uint64_t version = entry.version.load(std::memory_order_acquire);  // pairs with the writer's release
  if (version == 0 || (version & 1) != 0) return false;
  uint64_t words[StackAreaEntry::kWords];
  for (uint32_t i = 0; i < StackAreaEntry::kWords; ++i) words[i] = entry.words[i].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  __builtin_memcpy(&area, words, sizeof(area));
  return entry.version.load(std::memory_order_relaxed) == version;
}

class StackAreaTable {
 public:
  StackAreaTable(LogHeader& log, const LogLayout& layout)
      : log_(log),
        entries_(reinterpret_cast<StackAreaEntry*>(reinterpret_cast<uint8_t*>(&log) + layout.stack_areas_offset)),
        mask_(layout.stack_area_capacity - 1) {}

  // Replaces the entry of a stack with the same start.
  void note(const StackArea& area) {
    if (area.begin == 0) return;
    if (replace(area.begin, area.begin, area) || replace(0, area.begin, area)) return;
    const uint32_t lost = log_.stack_area_overflow.fetch_add(1, std::memory_order_relaxed);
    StackAreaEntry& entry = entry_for(area.begin, lost % kWindow);
    write(entry, entry.version.load(std::memory_order_acquire), area);
  }

  void forget(uint64_t begin) {
    if (begin != 0) replace(begin, begin, {});
  }

 private:
  static constexpr uint32_t kWindow = 16;  // candidate entries of a stack, from the one chosen by its address

  // The nth candidate entry of this stack.
  [[nodiscard]] StackAreaEntry& entry_for(uint64_t begin, uint32_t nth) const {
    const auto hash = static_cast<uint32_t>((begin >> 4) * 0x9e3779b97f4a7c15 >> 40);
    return entries_[(hash + nth) & mask_];
  }

  // Writes an entry last seen at this version. False: another writer changed it, possibly the one that this thread interrupted.
  static bool write(StackAreaEntry& entry, uint64_t version, const StackArea& area) {
    if ((version & 1) != 0 || !entry.version.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel)) {
      return false;
    }
    std::atomic_thread_fence(std::memory_order_release);  // a reader of a word of these sees that odd version
    uint64_t words[StackAreaEntry::kWords];
    __builtin_memcpy(words, &area, sizeof(words));
    for (uint32_t i = 0; i < StackAreaEntry::kWords; ++i) entry.words[i].store(words[i], std::memory_order_relaxed);
    entry.version.store(version + 2, std::memory_order_release);  // pairs with the reader's acquire
    return true;
  }

  // Writes a stack that begins at `begin` into an entry whose stack begins at `wanted` (0: empty). The version was read
  // before that check, so a concurrent write isn't overwritten.
  bool replace(uint64_t wanted, uint64_t begin, const StackArea& area) {
    for (uint32_t nth = 0; nth < kWindow; ++nth) {
      StackAreaEntry& entry = entry_for(begin, nth);
      const uint64_t version = entry.version.load(std::memory_order_acquire);
      if (entry.begin() == wanted && write(entry, version, area)) return true;
    }
    return false;
  }

  LogHeader& log_;
  StackAreaEntry* entries_;
  uint32_t mask_;
};

}  // namespace heaptap::wire
