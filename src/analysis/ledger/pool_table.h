// Live blocks of pools that the program reports, and open resources. They have no numbers: the key is the pool and the address.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <utility>

#include "analysis/ledger/block.h"
#include "common/model/tables.h"

namespace heaptap::ledger {

struct PooledBlock {
  Block block;
  bool is_older = false;  // than the window
};

class PoolTable {
 public:
  // Returns the block already live at that address, if any: its release wasn't reported.
  std::optional<PooledBlock> add(uint64_t pooled_size, const PooledBlock& block) {
    const auto [place, is_new] = pools_[wire::pool_of(pooled_size)].try_emplace(block.block.address, block);
    if (is_new) return std::nullopt;
    return std::exchange(place->second, block);
  }

  // None: no live block there.
  std::optional<PooledBlock> remove(uint64_t pooled_size, uint64_t address) {
    const auto pool = pools_.find(wire::pool_of(pooled_size));
    if (pool == pools_.end()) return std::nullopt;
    const auto found = pool->second.find(address);
    if (found == pool->second.end()) return std::nullopt;
    const PooledBlock removed = found->second;
    pool->second.erase(found);
    return removed;
  }

  // Calls visit(block) for each live block of the pool and removes the pool.
  template <typename Visit>
  void remove_all(uint64_t pooled_size, Visit visit) {
    const auto pool = pools_.find(wire::pool_of(pooled_size));
    if (pool == pools_.end()) return;
    for (const auto& [address, block] : pool->second) visit(block);
    pools_.erase(pool);
  }

 private:
  using Blocks = boost::unordered_flat_map<uint64_t, PooledBlock>;  // by address
  boost::unordered_flat_map<uint32_t, Blocks> pools_;
};

}  // namespace heaptap::ledger
