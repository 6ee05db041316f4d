// Live blocks of --aggregate: maps an address to the kept value of its block, in memory of fixed size. Open addressing
// over lines of four places. A line counts the blocks that found it full and went to another, so that a search knows
// where to end. A released block stays in the table until its place is needed, so that a double release is recognized.
//
// Lock-free. The program's own order of calls (a release is noted before it happens, an allocation after) keeps two
// calls for one address apart; only errors of the program make them collide, and then one of them wins.
#pragma once
#include <stdint.h>

#include "common/wire/totals.h"

namespace heaptap::agent {

class LiveBlocks {
 public:
  static constexpr uint32_t kMaxLines = 24;  // maximum lines searched for one block

  // `count`: a prime, at least wire::kFewestLines. `pages`: a byte for each page of lines, nonzero once the page was used.
  void start(wire::BlockLine* lines, uint32_t count, std::atomic<uint8_t>* pages) {
    lines_ = lines;
    count_ = count;
    pages_ = pages;
  }

  enum class Insert : uint8_t { kPlaced, kReplaced, kFull };
  // kReplaced: the address was still alive; `before` is its kept value. kFull: not kept.
  Insert insert(uint64_t address, uint64_t where, uint64_t& before) {
    const Probe probe = probe_of(address);
    for (uint32_t tries = 0; tries < kMaxTries; ++tries) {
      Found room;
      const Found same = look(address, probe, &room);
      if (same.place != nullptr && wire::is_live_block(same.tagged_address)) {
        before = same.place->where.exchange(where, std::memory_order_relaxed);
        return Insert::kReplaced;
      }
      const Found& to = same.place != nullptr ? same : room;
      if (to.place == nullptr) return Insert::kFull;
      const uint64_t flags = to.tagged_address & ~(wire::kBlockAddress | wire::kBlockDead);
      if (!change(to, flags | address)) continue;
      to.place->where.store(where, std::memory_order_relaxed);
      if (same.place == nullptr) settle(probe, to);
      return Insert::kPlaced;
    }
    return Insert::kFull;
  }

  enum class Take : uint8_t { kTaken, kDead, kNever, kUnclear };
  // Marks the block as released. kDead: it was released already. kNever: it never was alive. kUnclear: one of these two.
  Take take(uint64_t address, uint64_t& where) {
    const Probe probe = probe_of(address);
    for (uint32_t tries = 0; tries < kMaxTries; ++tries) {
      const Found same = look(address, probe, nullptr);
      if (same.place == nullptr) {
        return (head_of(probe.line).load(std::memory_order_relaxed) & wire::kDeadGone) != 0 ? Take::kUnclear
                                                                                            : Take::kNever;
      }
      if (!wire::is_live_block(same.tagged_address)) return Take::kDead;
      where = same.place->where.load(std::memory_order_relaxed);
      if (change(same, same.tagged_address | wire::kBlockDead)) return Take::kTaken;
    }
    return Take::kUnclear;
  }

 private:
  static constexpr uint32_t kMaxTries = 64;  // lost races against other threads: more would mean a damaged table

  struct Probe {  // the candidate lines of a block: line, line + step, …
    uint32_t line;
    uint32_t step;
  };
  struct Found {
    wire::BlockPlace* place = nullptr;
    uint64_t tagged_address = 0;
    uint32_t line = 0;
    uint32_t distance = 0;  // in steps
  };

  // Blocks of one page have neighbouring lines: programs that use neighbours in sequence find them in the cache here too.
  [[nodiscard]] Probe probe_of(uint64_t address) const {
    constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;
    const uint64_t page = (address >> 12) * kMix;
    uint32_t line = within(page >> 32) + (static_cast<uint32_t>(address >> 6) & 63);
    if (line >= count_) line -= count_;
    return {line, 1 + static_cast<uint32_t>(address * kMix >> 40) % (count_ - 1)};
  }
  [[nodiscard]] uint32_t within(uint64_t hash) const { return static_cast<uint32_t>(hash * count_ >> 32); }
  [[nodiscard]] uint32_t next(uint32_t line, uint32_t step) const {
    return line < count_ - step ? line + step : line - (count_ - step);
  }
  [[nodiscard]] std::atomic<uint64_t>& head_of(uint32_t line) const { return lines_[line].places[0].tagged_address; }

  static bool change(const Found& found, uint64_t to) {
    uint64_t expected = found.tagged_address;
    return found.place->tagged_address.compare_exchange_strong(expected, to, std::memory_order_acq_rel,
                                                               std::memory_order_relaxed);
  }

  // The address's place, alive or dead; if `room` isn't null, also the best place to insert it.
  Found look(uint64_t address, Probe probe, Found* room) const {
    bool may_be_here = true;
    uint32_t line = probe.line;
    for (uint32_t distance = 0; distance < kMaxLines; ++distance, line = next(line, probe.step)) {
      wire::BlockLine& places = lines_[line];
      for (wire::BlockPlace& place : places.places) {
        const uint64_t tagged_address = place.tagged_address.load(std::memory_order_acquire);
        if ((tagged_address & wire::kBlockAddress) == address) return {&place, tagged_address, line, distance};
      }
      if (room != nullptr && room->place == nullptr) find_room(line, distance, *room);
      may_be_here = may_be_here && head_of(line).load(std::memory_order_relaxed) >= wire::kPassedOne;
      if (!may_be_here && (room == nullptr || room->place != nullptr)) break;
    }
    return {};
  }

  // An unused place of the line, else that of a dead block.
  void find_room(uint32_t line, uint32_t distance, Found& room) const {
    for (wire::BlockPlace& place : lines_[line].places) {
      const uint64_t tagged_address = place.tagged_address.load(std::memory_order_acquire);
      if (wire::is_live_block(tagged_address)) continue;
      if (room.place == nullptr) room = {&place, tagged_address, line, distance};
      if ((tagged_address & wire::kBlockAddress) != 0) continue;
      room = {&place, tagged_address, line, distance};
      return;
    }
  }

  // Accounts for a new block at this place.
  void settle(const Probe& probe, const Found& to) {
    if (to.distance > 0) add_passed(probe, to.distance, 1);
    if ((to.tagged_address & wire::kBlockAddress) != 0) {
      forget(to);
    } else {
      pages_[to.line / wire::kPageLines].store(1, std::memory_order_relaxed);
    }
  }

  // Accounts for a dead block whose place was reused.
  void forget(const Found& given) {
    const Probe probe = probe_of(given.tagged_address & wire::kBlockAddress);
    head_of(probe.line).fetch_or(wire::kDeadGone, std::memory_order_relaxed);
    uint32_t distance = 0;
    for (uint32_t line = probe.line; line != given.line && distance < kMaxLines; line = next(line, probe.step))
      ++distance;
    if (distance < kMaxLines) add_passed(probe, distance, -1);
  }

  void add_passed(Probe probe, uint32_t lines, int by) {
    uint32_t line = probe.line;
    for (uint32_t i = 0; i < lines; ++i, line = next(line, probe.step)) {
      std::atomic<uint64_t>& head = head_of(line);
      uint64_t seen = head.load(std::memory_order_relaxed);
      do {
        const uint64_t passed = seen >> 52;
        if (passed >= wire::kMaxPassed || (by < 0 && passed == 0)) break;
      } while (!head.compare_exchange_weak(seen, by < 0 ? seen - wire::kPassedOne : seen + wire::kPassedOne,
                                           std::memory_order_relaxed));
    }
  }

  wire::BlockLine* lines_ = nullptr;
  uint32_t count_ = 0;
  std::atomic<uint8_t>* pages_ = nullptr;
};

}  // namespace heaptap::agent
