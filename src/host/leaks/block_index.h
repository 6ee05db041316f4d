// From an address to the block there, in few and predictable steps:
//
//   tops_     one for 512 GiB of addresses ─▸ regions_   one for 2 MiB ─▸ leaves_   one entry for 1 KiB
//
// A leaf's entry is the number of blocks that begin before its KiB, so the blocks that begin in it are between its entry and
// the next one. A region in the middle of a large block needs no leaf. Private to leaks/.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "host/leaks/classify.h"
#include "host/model/heap_scan.h"

namespace heaptap::leaks {

class BlockIndex {
 public:
  // Blocks that begin at or behind it aren't found: no 64-bit CPU's programs have memory there unless they ask for it.
  static constexpr uint64_t kAddressEnd = uint64_t{1} << 48;

  BlockIndex() = default;
  // `blocks` ascend by address, and stay where they are.
  explicit BlockIndex(std::span<const model::ScannedBlock> blocks);

  // False: no block is in the 2 MiB around it.
  [[nodiscard]] bool may_hold(uint64_t address) const { return address < kAddressEnd && region(address) != kNothing; }

  // The last block that begins at `address` or before it, if it may reach to it; else kNoBlock. `address` may be held.
  [[nodiscard]] uint32_t last_before(uint64_t address) const {
    const uint32_t value = region(address);
    if (value >= kInside) return value - kInside;
    if (value == kNothing) return kNoBlock;
    const uint32_t* entry = &leaves_[entry_index(value, address)];
    const auto begin = blocks_.begin() + entry[0];
    const auto found = std::upper_bound(begin, blocks_.begin() + entry[1], address, is_before);
    return found == blocks_.begin() ? kNoBlock : static_cast<uint32_t>(found - blocks_.begin() - 1);
  }

  // What last_before() will need, in two steps.
  void fetch_leaf(uint64_t address) const {
    const uint32_t value = region(address);
    if (is_leaf(value)) __builtin_prefetch(&leaves_[entry_index(value, address)]);
  }
  void fetch_block(uint64_t address) const {
    const uint32_t value = region(address);
    if (!is_leaf(value)) return;
    const uint32_t* entry = &leaves_[entry_index(value, address)];
    // The last one that begins before the KiB is as likely as one that begins in it.
    __builtin_prefetch(blocks_.data() + (entry[0] == 0 ? 0 : entry[0] - 1));
    __builtin_prefetch(blocks_.data() + entry[0] + (entry[1] - entry[0]) / 2);
  }

 private:
  static constexpr unsigned kTopBits = 39;
  static constexpr unsigned kRegionBits = 21;
  static constexpr unsigned kEntryBits = 10;
  static constexpr uint64_t kRegionsOfTop = 1u << (kTopBits - kRegionBits);
  static constexpr uint64_t kEntriesOfLeaf = (1u << (kRegionBits - kEntryBits)) + 1;
  static constexpr uint64_t kMostIndexedBytes = uint64_t{1} << 44;  // of one block
  // A region: kNothing, the number of its leaf + 1, or kInside + the block that it is in the middle of.
  static constexpr uint32_t kNothing = 0;
  static constexpr uint32_t kInside = 0x80000000;

  static bool is_before(uint64_t address, const model::ScannedBlock& block) { return address < block.address; }
  static bool is_leaf(uint32_t region) { return region != kNothing && region < kInside; }
  static size_t entry_index(uint32_t region, uint64_t address) {
    return (region - 1) * kEntriesOfLeaf + (address >> kEntryBits & (kEntriesOfLeaf - 2));
  }

  [[nodiscard]] uint32_t region(uint64_t address) const {
    const uint32_t top = tops_[address >> kTopBits];
    return regions_[top * kRegionsOfTop + (address >> kRegionBits & (kRegionsOfTop - 1))];
  }
  uint32_t& region_of(uint64_t number);
  void add_leaf(uint64_t region_number);
  void fill_leaf(size_t leaf, uint64_t region_number);

  std::span<const model::ScannedBlock> blocks_;
  std::vector<uint32_t> tops_ = std::vector<uint32_t>(kAddressEnd >> kTopBits, 0);  // the first kRegionsOfTop are empty
  std::vector<uint32_t> regions_ = std::vector<uint32_t>(kRegionsOfTop, kNothing);
  std::vector<uint32_t> leaves_;
  std::vector<uint64_t> leaf_regions_;
};

}  // namespace heaptap::leaks
