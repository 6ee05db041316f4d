// Cache from a return address to its unwind row and code entry: makes a known frame cost a few nanoseconds. Lock-free.
#pragma once
#include <stdint.h>

#include <atomic>

#include "agent/core/growing_table.h"
#include "common/unwind/row.h"
#include "common/wire/log.h"

namespace heaptap::agent {

// Cached rule of an address, in one word: its row, shifted up to make room for the index of the code entry.
//
//    63            43 42        33 32      28 27    24 23                  0
//   ┌────────────────┬────────────┬──────────┬────────┬─────────────────────┐
//   │ cfa (21)       │ fp (10)    │ ra (5)   │ kind(4)│ code (24)           │
//   └────────────────┴────────────┴──────────┴────────┴─────────────────────┘
//
// A row's kind is 0 only when it has to be made anew, since the address's module may have changed.
struct Rule {
  static constexpr uint32_t kNoCode = 0xffffff;
  static constexpr unsigned kCodeBits = 24;

  uint64_t word = 0;

  [[nodiscard]] bool has_row() const { return row().kind() != unwind::RowKind::kUnknown; }
  [[nodiscard]] unwind::Row row() const {
    return unwind::Row::of_word(static_cast<uint64_t>(static_cast<int64_t>(word) >> kCodeBits));
  }
  [[nodiscard]] uint32_t code() const { return static_cast<uint32_t>(word) & kNoCode; }

  static Rule make(unwind::Row row, uint32_t code) {
    constexpr unsigned kCfaBits = 64 - kCodeBits - unwind::Row::kCfaShift;
    if (!unwind::Row::fits_in(row.cfa_words(), kCfaBits)) row = unwind::Row(unwind::RowKind::kUnsupported);
    return {row.word() << kCodeBits | (code & kNoCode)};
  }
};

class RuleTable {
 public:
  bool start(wire::CodeEntry* codes, uint32_t capacity, wire::LogHeader* log) {
    codes_ = codes;
    capacity_ = capacity < Rule::kNoCode ? capacity : Rule::kNoCode;
    log_ = log;
    return table_.start(1024);
  }

  [[nodiscard]] MappedPart memory() const { return table_.memory(); }

  // `key`: the address, with wire::kCodeExact for an interrupted instruction. A rule without a row: unknown.
  [[nodiscard]] Rule find(uint64_t key) const {
    const Slot* slot = table_.find(hash_of(key), [key](const Slot& other) { return other.is(key); });
    return slot != nullptr ? Rule{slot->read()} : Rule{};
  }
  // Prefetches for a find() of this key.
  void expect(uint64_t key) const { table_.expect(hash_of(key)); }

  // Adds the row of an address in a range of this generation. code() is kNoCode where there is no room left.
  Rule add(uint64_t key, uint32_t generation, unwind::Row row) {
    Slot* slot = table_.insert(
        key, hash_of(key), [key](const Slot& other) { return other.is(key); },
        [] { return [](const Slot& other) { return hash_of(other.key.load(std::memory_order_relaxed)); }; });
    const Rule known = slot != nullptr ? Rule{slot->read()} : Rule{};
    const uint64_t entry = wire::with_generation(key, generation);
    const bool same_code =
        known.word != 0 && known.code() < capacity_ && codes_[known.code()].load(std::memory_order_relaxed) == entry;
    const Rule made = Rule::make(row, same_code ? known.code() : add_code(entry));
    if (slot != nullptr) slot->word.store(made.word, std::memory_order_release);
    return made;
  }

  // The code entry with this index; 0: there is none.
  [[nodiscard]] uint64_t code_at(uint32_t index) const {
    return index < capacity_ ? codes_[index].load(std::memory_order_relaxed) : 0;
  }

  // Invalidates the rows of addresses in [start, end).
  void forget(uint64_t start, uint64_t end) {
    table_.for_each([&](Slot& slot) {
      const uint64_t address = wire::code_address(slot.key.load(std::memory_order_relaxed));
      if (address < start || address >= end) return;
      slot.word.fetch_and(uint64_t{Rule::kNoCode}, std::memory_order_acq_rel);
    });
  }

 private:
  using Slot = KeySlot<uint64_t>;  // by address: a Rule's word

  static uint32_t hash_of(uint64_t key) { return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15u) >> 32); }
  uint32_t add_code(uint64_t entry) {
    const uint32_t index = wire::claim_entry(log_->code_count, capacity_);
    if (index == wire::kNoEntry) {
      log_->was_without_node.store(1, std::memory_order_relaxed);
      return Rule::kNoCode;
    }
    codes_[index].store(entry, std::memory_order_release);
    return index;
  }

  wire::CodeEntry* codes_ = nullptr;
  uint32_t capacity_ = 0;
  wire::LogHeader* log_ = nullptr;
  GrowingTable<Slot> table_;
};

}  // namespace heaptap::agent
