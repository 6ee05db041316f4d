// From a return address to its unwind row and its code entry: what makes a known frame cost a few nanoseconds.
// Threads read and fill it without locks.
#pragma once
#include <stdint.h>

#include <atomic>

#include "agent/growing_table.h"
#include "unwind/row.h"
#include "wire/log.h"

namespace heaptap::agent {

// A word of the table: tag of the address (24 bits) | row number (16) | index of the code entry (24).
// Row 0 means that the row has to be made anew: the address's module may have changed.
struct Rule {
  uint64_t word = 0;
  [[nodiscard]] uint32_t row() const { return static_cast<uint32_t>(word >> 24) & 0xffff; }
  [[nodiscard]] uint32_t code() const { return static_cast<uint32_t>(word) & 0xffffff; }
  static uint64_t make(uint64_t key, uint32_t row, uint32_t code) {
    return (tag_of(key) << 40) | (uint64_t{row} << 24) | code;
  }
  static uint64_t tag_of(uint64_t key) { return ((key * 0x9e3779b97f4a7c15u) >> 8 & 0xffffff) | 1; }
};

// Distinct rows, found by value. Their number in here is their id for the session.
class RowTable {
 public:
  [[nodiscard]] unwind::Row at(uint32_t id) const {
    return __builtin_bit_cast(unwind::Row, rows_[id].load(std::memory_order_relaxed));
  }
  // The row's number, from 1 on; 0 where the table is full.
  uint32_t intern(unwind::Row row) {
    const auto bits = __builtin_bit_cast(uint64_t, row);
    uint32_t id = static_cast<uint32_t>((bits * 0x9e3779b97f4a7c15u) >> 40) % kCapacity;
    for (uint32_t tries = 0; tries < kCapacity; ++tries, id = (id + 1) % kCapacity) {
      if (id == 0) continue;
      uint64_t seen = rows_[id].load(std::memory_order_relaxed);
      if (seen == bits) return id;
      if (seen == 0 && rows_[id].compare_exchange_strong(seen, bits, std::memory_order_relaxed)) return id;
      if (seen == bits) return id;
    }
    return 0;
  }

 private:
  static constexpr uint32_t kCapacity = 16384;
  std::atomic<uint64_t> rows_[kCapacity]{};
};

class RuleTable {
 public:
  bool start(wire::CodeEntry* codes, wire::LogHeader* log) {
    codes_ = codes;
    log_ = log;
    return table_.start(2048);
  }

  // `key`: the address, with wire::kCodeExact for an interrupted instruction. word 0: not known.
  [[nodiscard]] Rule find(uint64_t key) const {
    const uint64_t tag = Rule::tag_of(key);
    return Rule{table_.find(hash_of_key(key), [&](uint64_t word) { return word >> 40 == tag && is_code(word, key); })};
  }

  // Notes the row of an address that lies in a range of this generation. code() is 0xffffff where there is no room left.
  Rule add(uint64_t key, uint32_t generation, uint32_t row) {
    const uint64_t entry = key | uint64_t{generation} << 48;
    const auto matches = [&](uint64_t word) { return code_entry(word) == entry; };
    Rule known{table_.find(hash_of_key(key), matches)};
    if (known.word == 0) {
      const uint32_t index = log_->code_count.load(std::memory_order_relaxed) < capacity()
                                 ? log_->code_count.fetch_add(1, std::memory_order_relaxed)
                                 : capacity();
      if (index >= capacity()) return Rule{Rule::make(key, row, kNoCode)};
      codes_[index].store(entry, std::memory_order_release);
      known.word = table_.insert(Rule::make(key, row, index), hash_of_key(key), matches,
                                 [this](uint64_t word) { return hash_of_key(key_of(word)); });
      if (known.word == 0) known.word = Rule::make(key, row, index);
    }
    if (known.row() != row) {
      const uint64_t changed = Rule::make(key, row, known.code());
      table_.for_each([&](uint64_t word) { return word == known.word ? changed : word; });
      known.word = changed;
    }
    return known;
  }

  // Rows of addresses in [start, end) have to be made anew.
  void forget(uint64_t start, uint64_t end) {
    table_.for_each([&](uint64_t word) {
      const uint64_t address = wire::code_address(code_entry(word));
      return address >= start && address < end ? word & ~(uint64_t{0xffff} << 24) : word;
    });
  }

  static constexpr uint32_t kNoCode = 0xffffff;

 private:
  static constexpr uint64_t kKeyMask = wire::kCodeAddressMask | wire::kCodeExact;
  static uint32_t hash_of_key(uint64_t key) { return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15u) >> 32); }
  [[nodiscard]] uint32_t capacity() const { return log_->code_capacity < kNoCode ? log_->code_capacity : kNoCode; }
  [[nodiscard]] uint64_t code_entry(uint64_t word) const {
    return codes_[Rule{word}.code()].load(std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t key_of(uint64_t word) const { return code_entry(word) & kKeyMask; }
  // A forgotten address's word still matches; of several generations the first one with a row is the present one.
  [[nodiscard]] bool is_code(uint64_t word, uint64_t key) const { return key_of(word) == key && Rule{word}.row() != 0; }

  wire::CodeEntry* codes_ = nullptr;
  wire::LogHeader* log_ = nullptr;
  GrowingTable<uint64_t> table_;
};

}  // namespace heaptap::agent
