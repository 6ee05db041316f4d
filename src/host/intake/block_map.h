// What is alive at which address, while a trace is written: turns the address of a release into its allocation's number.
// Remembers released blocks too, so that a second release can be told from one of memory that was never allocated.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>

#include "host/model/event.h"

namespace heaptap::intake {

class BlockMap {
 public:
  struct Block {
    model::BlockNumber number;
    uint64_t size;
    model::SiteId allocated_at;
    model::SiteId released_at;  // kAlive while it is alive
    [[nodiscard]] bool alive() const { return released_at == kAlive; }
  };
  static constexpr model::SiteId kAlive = UINT32_MAX;

  // Null: nothing was ever allocated at that address (or it was forgotten, long dead).
  Block* find(uint64_t address) {
    const auto found = blocks_.find(address);
    return found == blocks_.end() ? nullptr : &found->second;
  }

  // The block must not be alive.
  void allocate(uint64_t address, const Block& block) {
    if (blocks_.insert_or_assign(address, block).second && blocks_.size() >= trim_at_) trim();
  }

  // The live block that holds this address inside it; null: none. Looks at all of them.
  const Block* find_around(uint64_t address) const;

 private:
  void trim();

  // Allocators hand out addresses on 16-byte boundaries, one after the other: spread them.
  struct Spread {
    using is_avalanching = void;
    size_t operator()(uint64_t address) const {
      const auto product = static_cast<unsigned __int128>(address) * 0x9e3779b97f4a7c15u;
      return static_cast<size_t>(product) ^ static_cast<size_t>(product >> 64);
    }
  };

  boost::unordered_flat_map<uint64_t, Block, Spread> blocks_;
  size_t trim_at_ = 1u << 20;
};

}  // namespace heaptap::intake
