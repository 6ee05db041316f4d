#include "host/intake/block_map.h"

#include <algorithm>

namespace heaptap::intake {

const BlockMap::Block* BlockMap::find_around(uint64_t address) const {
  for (const auto& [start, block] : blocks_) {
    if (block.alive() && address > start && address - start < block.size) return &block;
  }
  return nullptr;
}

// Forgets the dead when they have become many; the next time comes when the living have doubled.
void BlockMap::trim() {
  erase_if(blocks_, [](const auto& entry) { return !entry.second.alive(); });
  trim_at_ = std::max<size_t>(1u << 20, blocks_.size() * 2);
}

}  // namespace heaptap::intake
