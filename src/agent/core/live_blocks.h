// Live blocks of --aggregate: maps an address to the kept value of its block, in memory of fixed size. Open addressing
// over lines of four places. A line counts the blocks that found it full and went to another, so that a search knows
// where to end. A released block stays in the table until its place is needed, so that a double release is recognized.
//
// Lock-free. The program's own order of calls (a release is noted before it happens, an allocation after) keeps two
// calls for one address apart; only errors of the program make them collide, and then one of them wins.
#pragma once
#include <stdint.h>

#include "agent/core/wide_product.h"
#include "common/wire/totals.h"

namespace heaptap::agent {

class LiveBlocks {
 public:
  static constexpr uint32_t kMaxLines = 24;  // maximum lines searched for one block

  // `count`: a prime, at least wire::kFewestLines. `pages`: a byte for each page of lines, nonzero once the page was used.
  void start(wire::BlockLine* lines, uint32_t count, std::atomic<uint8_t>* pages) {
    lines_ = lines;
    count_ = count;
    inverse_ = UINT64_MAX / count + 1;
    pages_ = pages;
  }

  enum class Insert : uint8_t { kPlaced, kReplaced, kFull };
  // kReplaced: the address was still alive; `before` is its kept value. kFull: not kept.
  __attribute__((always_inline)) Insert insert(uint64_t address, uint64_t where, uint64_t& before) {
    const uint32_t line = line_of(address);
    wire::BlockPlace& home = home_of(line, address);
    // Mostly its last block was here as well.
    uint64_t seen = home.tagged_address.load(std::memory_order_acquire);
    if ((seen & (wire::kBlockAddress | wire::kBlockDead)) == (address | wire::kBlockDead) &&
        change(home, seen, seen & ~wire::kBlockDead)) [[likely]] {
      home.where.store(where, std::memory_order_relaxed);
      return Insert::kPlaced;
    }
    return insert_anywhere(address, where, before);
  }

  // The same, for few calls.
  __attribute__((noinline)) Insert insert_anywhere(uint64_t address, uint64_t where, uint64_t& before) {
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
      if (!change(*to.place, to.tagged_address, flags | address)) continue;
      to.place->where.store(where, std::memory_order_relaxed);
      if (same.place == nullptr) settle(probe, to);
      return Insert::kPlaced;
    }
    return Insert::kFull;
  }

  enum class Take : uint8_t { kTaken, kDead, kNever, kUnclear };
  // Marks the block as released. kDead: it was released already. kNever: it never was alive. kUnclear: one of these two.
  __attribute__((always_inline)) Take take(uint64_t address, uint64_t& where) {
    wire::BlockPlace& home = home_of(line_of(address), address);
    const uint64_t seen = home.tagged_address.load(std::memory_order_acquire);
    if ((seen & (wire::kBlockAddress | wire::kBlockDead)) == address) [[likely]] {
      where = home.where.load(std::memory_order_relaxed);
      if (change(home, seen, seen | wire::kBlockDead)) return Take::kTaken;
    }
    return take_anywhere(address, where);
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

  __attribute__((noinline)) Take take_anywhere(uint64_t address, uint64_t& where) {
    const Probe probe = probe_of(address);
    for (uint32_t tries = 0; tries < kMaxTries; ++tries) {
      const Found same = look(address, probe, nullptr);
      if (same.place == nullptr) {
        return (head_of(probe.line).load(std::memory_order_relaxed) & wire::kDeadGone) != 0 ? Take::kUnclear
                                                                                            : Take::kNever;
      }
      if (!wire::is_live_block(same.tagged_address)) return Take::kDead;
      where = same.place->where.load(std::memory_order_relaxed);
      if (change(*same.place, same.tagged_address, same.tagged_address | wire::kBlockDead)) return Take::kTaken;
    }
    return Take::kUnclear;
  }

  // Neighbouring blocks have neighbouring lines: so programs that use neighbours find them in the cache here too, and a heap in one
  // piece fills all lines alike, before any of them is used twice. A line is for as many bytes as glibc's four smallest blocks take.
  // Pieces of memory of an arena's size have no common order.
  static constexpr uint32_t kPieceShift = 26;
  static constexpr uint32_t kLineShift = 7;
  static constexpr uint32_t kPlaceShift = 5;
  static constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;
  [[nodiscard]] __attribute__((always_inline)) uint32_t line_of(uint64_t address) const {
    constexpr uint64_t kLinesOfPiece = uint64_t{1} << (kPieceShift - kLineShift);
    const uint64_t piece = (address >> kPieceShift) * kMix >> 33;
    return remainder(static_cast<uint32_t>(piece + (address >> kLineShift & (kLinesOfPiece - 1))));
  }
  // number % count_, without a division.
  [[nodiscard]] __attribute__((always_inline)) uint32_t remainder(uint32_t number) const {
    const uint64_t fraction = inverse_ * number;  // of the quotient
    return static_cast<uint32_t>(wide_product(fraction, count_).high);
  }
  // Where it mostly is, of its line's places.
  [[nodiscard]] __attribute__((always_inline)) wire::BlockPlace& home_of(uint32_t line, uint64_t address) const {
    return lines_[line].places[address >> kPlaceShift & (wire::kLinePlaces - 1)];
  }
  [[nodiscard]] Probe probe_of(uint64_t address) const {
    return {line_of(address), 1 + static_cast<uint32_t>(address * kMix >> 40) % (count_ - 1)};
  }
  [[nodiscard]] uint32_t next(uint32_t line, uint32_t step) const {
    return line < count_ - step ? line + step : line - (count_ - step);
  }
  [[nodiscard]] wire::Atomic64& head_of(uint32_t line) const { return lines_[line].places[0].tagged_address; }

  static __attribute__((always_inline)) bool change(wire::BlockPlace& place, uint64_t from, uint64_t to) {
    return place.tagged_address.compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  // The address's place, alive or dead; if `room` isn't null, also the best place to insert it.
  __attribute__((noinline)) Found look(uint64_t address, Probe probe, Found* room) const {
    bool may_be_here = true;
    uint32_t line = probe.line;
    for (uint32_t distance = 0; distance < kMaxLines; ++distance, line = next(line, probe.step)) {
      wire::BlockLine& places = lines_[line];
      for (wire::BlockPlace& place : places.places) {
        const uint64_t tagged_address = place.tagged_address.load(std::memory_order_acquire);
        if ((tagged_address & wire::kBlockAddress) == address) return {&place, tagged_address, line, distance};
      }
      if (room != nullptr && room->place == nullptr) find_room(address, line, distance, *room);
      may_be_here = may_be_here && head_of(line).load(std::memory_order_relaxed) >= wire::kPassedOne;
      if (!may_be_here && (room == nullptr || room->place != nullptr)) break;
    }
    return {};
  }

  // An unused place of the line, else that of a dead block; the address's own first.
  void find_room(uint64_t address, uint32_t line, uint32_t distance, Found& room) const {
    for (uint64_t i = 0; i < wire::kLinePlaces; ++i) {
      wire::BlockPlace& place = home_of(line, address + (i << kPlaceShift));
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
    wire::Atomic64& head = head_of(probe.line);
    if ((head.load(std::memory_order_relaxed) & wire::kDeadGone) == 0)
      head.fetch_or(wire::kDeadGone, std::memory_order_relaxed);
    uint32_t distance = 0;
    for (uint32_t line = probe.line; line != given.line && distance < kMaxLines; line = next(line, probe.step))
      ++distance;
    if (distance < kMaxLines) add_passed(probe, distance, -1);
  }

  void add_passed(Probe probe, uint32_t lines, int by) {
    uint32_t line = probe.line;
    for (uint32_t i = 0; i < lines; ++i, line = next(line, probe.step)) {
      wire::Atomic64& head = head_of(line);
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
  uint64_t inverse_ = 0;  // 2^64 / count_, rounded up
  std::atomic<uint8_t>* pages_ = nullptr;
};

}  // namespace heaptap::agent
