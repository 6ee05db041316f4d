#include "capture/scan/block_index.h"

namespace heaptap::scan {

BlockIndex::BlockIndex(std::span<const model::ScannedBlock> blocks) : blocks_(blocks) {
  starts_.reserve(blocks.size());
  for (uint32_t i = 0; i < blocks_.size() && blocks_[i].address < kAddressEnd; ++i) {
    const uint64_t address = blocks_[i].address;
    starts_.push_back(static_cast<uint16_t>(address & kLowMask));
    const uint64_t most = std::min(kMaxIndexedBytes, kAddressEnd - address);
    const uint64_t last = address + std::clamp<uint64_t>(blocks_[i].size_bytes, 1, most) - 1;
    add_leaf(address >> kRegionBits);
    for (uint64_t number = (address >> kRegionBits) + 1; number < last >> kRegionBits; ++number) {
      uint32_t& region = region_of(number);
      if (region == kNothing) region = kInside + i;
    }
    add_leaf(last >> kRegionBits);
  }
  leaves_.resize(leaf_regions_.size() * kEntriesOfLeaf);
  for (size_t leaf = 0; leaf < leaf_regions_.size(); ++leaf) fill_leaf(leaf, leaf_regions_[leaf]);
}

uint32_t& BlockIndex::region_of(uint64_t number) {
  uint32_t& top = tops_[static_cast<size_t>(number >> (kTopBits - kRegionBits))];
  if (top == 0) {
    top = static_cast<uint32_t>(regions_.size() / kRegionsOfTop);
    regions_.resize(regions_.size() + kRegionsOfTop, kNothing);
  }
  return regions_[top * kRegionsOfTop + static_cast<size_t>(number & (kRegionsOfTop - 1))];
}

void BlockIndex::add_leaf(uint64_t region_number) {
  uint32_t& region = region_of(region_number);
  if (is_leaf(region)) return;
  leaf_regions_.push_back(region_number);
  region = static_cast<uint32_t>(leaf_regions_.size());
}

void BlockIndex::fill_leaf(size_t leaf, uint64_t region_number) {
  uint64_t address = region_number << kRegionBits;
  const auto first = std::lower_bound(blocks_.begin(), blocks_.end(), address,
                                      [](const model::ScannedBlock& block, uint64_t at) { return block.address < at; });
  auto at = static_cast<uint32_t>(first - blocks_.begin());
  for (size_t i = 0; i < kEntriesOfLeaf; ++i, address += uint64_t{1} << kEntryBits) {
    while (at < blocks_.size() && blocks_[at].address < address) ++at;
    leaves_[leaf * kEntriesOfLeaf + i] = at;
  }
}

}  // namespace heaptap::scan
