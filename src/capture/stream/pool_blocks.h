// Live blocks in pools reported by the program, for leak scans.
#pragma once
#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "common/model/event.h"
#include "common/model/heap_scan.h"
#include "common/wire/labels.h"

namespace heaptap::stream {

class PoolBlocks {
 public:
  struct Block {
    uint64_t size_bytes = 0;
    model::SiteId site = 0;
  };

  void add(uint64_t address, uint64_t pooled_size, model::SiteId site) {
    pools_[wire::pool_of(pooled_size)][address] = {wire::size_in_pool(pooled_size), site};
  }
  void remove(uint64_t address, uint64_t pooled_size) {
    const auto pool = pools_.find(wire::pool_of(pooled_size));
    if (pool != pools_.end()) pool->second.erase(address);
  }
  // Whether that block, or any of its pool, is alive.
  [[nodiscard]] bool has(uint64_t address, uint64_t pooled_size, bool any) const {
    const auto pool = pools_.find(wire::pool_of(pooled_size));
    return pool != pools_.end() && (any || pool->second.contains(address));
  }
  void remove_all(uint64_t pooled_size) { pools_.erase(wire::pool_of(pooled_size)); }

  // As blocks of a scan, numbered deterministically: by address, then by pool. Without those of size 0, which aren't
  // memory, and those for whose site is_memory(site) is false.
  template <typename IsMemory>
  [[nodiscard]] std::vector<model::ScannedBlock> in_order(IsMemory is_memory) const {
    std::vector<std::pair<uint32_t, model::ScannedBlock>> found;
    for (const auto& [number, pool] : pools_) {
      for (const auto& [address, block] : pool) {
        if (block.size_bytes != 0 && is_memory(block.site)) {
          found.push_back({number, {address, block.size_bytes, 0, block.site, 0}});
        }
      }
    }
    std::ranges::sort(found, {}, [](const auto& entry) { return std::tuple(entry.second.address, entry.first); });
    std::vector<model::ScannedBlock> blocks;
    blocks.reserve(found.size());
    for (auto& [number, block] : found) {
      // They have no numbers: these are above all regular ones.
      block.number = model::kFirstPooledNumber + blocks.size();
      blocks.push_back(block);
    }
    return blocks;
  }

  // Calls visit(address, pooled_size, site) for each, in no particular order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [number, pool] : pools_) {
      for (const auto& [address, block] : pool)
        visit(address, wire::make_pooled_size(number, block.size_bytes), block.site);
    }
  }

 private:
  boost::unordered_flat_map<uint32_t, boost::unordered_flat_map<uint64_t, Block>> pools_;
};

}  // namespace heaptap::stream
