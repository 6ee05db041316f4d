// Index from an address to its block, in few and predictable steps:
//
//   tops_     one for 8 GiB of addresses ─▸ regions_   one for 2 MiB ─▸ leaves_   one entry for 1 KiB
//
// A leaf's entry is the number of blocks that begin before its KiB, so the blocks that begin in it are between its
// entry and the next one; their offsets are in starts_. A region in the middle of a large block needs no leaf. A small
// heap needs little memory: 130 KiB of tops_, and 16 KiB for each one in use. Private to scan/.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "common/model/heap_scan.h"

namespace heaptap::scan {

class BlockIndex {
 public:
  // Blocks that begin at or above this aren't found: programs on 64-bit CPUs have no memory there unless they request it.
  static constexpr uint64_t kAddressEnd = uint64_t{1} << 48;
  static constexpr uint64_t kRegionBytes = uint64_t{1} << 21;

  BlockIndex() = default;
  // `blocks` ascend by address, and must not move.
  explicit BlockIndex(std::span<const model::ScannedBlock> blocks);

  // False: no block is in the aligned kRegionBytes around it.
  [[nodiscard]] bool may_hold(uint64_t address) const { return address < kAddressEnd && region(address) != kNothing; }

  struct Found {
    uint32_t block = model::kNoBlock;
    bool is_start = false;  // the block begins at the address
  };
  // The last block that begins at or before `address`, if it may extend to it; requires may_hold(address).
  [[nodiscard]] Found last_before(uint64_t address) const {
    const uint32_t value = region(address);
    if (value >= kInside) return {.block = value - kInside};
    if (value == kNothing) return {};
    const uint32_t* entry = &leaves_[entry_index(value, address)];
    const auto low = static_cast<uint16_t>(address & kLowMask);
    uint32_t after = entry[1];
    while (after != entry[0] && starts_[after - 1] > low) --after;
    if (after != entry[0]) return {.block = after - 1, .is_start = starts_[after - 1] == low};
    return {.block = after == 0 ? model::kNoBlock : after - 1};
  }

  // Prefetches for last_before(), in two steps.
  void fetch_leaf(uint64_t address) const {
    const uint32_t value = region(address);
    if (is_leaf(value)) __builtin_prefetch(&leaves_[entry_index(value, address)]);
  }
  void fetch_starts(uint64_t address) const {
    const uint32_t value = region(address);
    if (!is_leaf(value)) return;
    const uint32_t* entry = &leaves_[entry_index(value, address)];
    __builtin_prefetch(starts_.data() + entry[0]);
  }

 private:
  static constexpr unsigned kTopBits = 33;
  static constexpr unsigned kRegionBits = std::countr_zero(kRegionBytes);
  static constexpr unsigned kEntryBits = 10;
  static constexpr uint64_t kLowMask = (1u << kEntryBits) - 1;
  static constexpr size_t kRegionsOfTop = 1u << (kTopBits - kRegionBits);
  static constexpr size_t kEntriesOfLeaf = (1u << (kRegionBits - kEntryBits)) + 1;
  static constexpr uint64_t kMaxIndexedBytes = uint64_t{1} << 44;  // of one block
  // Region value: kNothing, the number of its leaf + 1, or kInside + the block that it is in the middle of.
  static constexpr uint32_t kNothing = 0;
  static constexpr uint32_t kInside = 0x80000000;

  static bool is_leaf(uint32_t region) { return region != kNothing && region < kInside; }
  static size_t entry_index(uint32_t region, uint64_t address) {
    return (region - 1) * kEntriesOfLeaf + static_cast<size_t>(address >> kEntryBits & (kEntriesOfLeaf - 2));
  }

  [[nodiscard]] uint32_t region(uint64_t address) const {
    const uint32_t top = tops_[static_cast<size_t>(address >> kTopBits)];
    return regions_[top * kRegionsOfTop + static_cast<size_t>(address >> kRegionBits & (kRegionsOfTop - 1))];
  }
  uint32_t& region_of(uint64_t number);
  void add_leaf(uint64_t region_number);
  void fill_leaf(size_t leaf, uint64_t region_number);

  std::span<const model::ScannedBlock> blocks_;
  std::vector<uint32_t> tops_ = std::vector<uint32_t>(kAddressEnd >> kTopBits, 0);  // the first kRegionsOfTop are empty
  std::vector<uint32_t> regions_ = std::vector<uint32_t>(kRegionsOfTop, kNothing);
  std::vector<uint32_t> leaves_;
  std::vector<uint16_t> starts_;  // each block's offset in its KiB, compact to use few pages
  std::vector<uint64_t> leaf_regions_;
};

}  // namespace heaptap::scan
