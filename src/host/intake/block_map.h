// What is alive at which address, while a trace is written: turns the address of a release into its allocation's number.
// Remembers blocks that were released not long ago too, so that a second release can be told from one of memory that was
// never allocated. A table of its own, since its look-ups are what a collector waits for: a block is half a cache line,
// and its place can be fetched before it is needed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/model/event.h"

namespace heaptap::intake {

class BlockMap {
 public:
  struct Block {
    model::BlockNumber number;  // of a live one
    uint64_t size;
    model::SiteId allocated_at;
    model::SiteId released_at;  // kAlive while it is alive
    [[nodiscard]] bool alive() const { return released_at == kAlive; }
  };
  static constexpr model::SiteId kAlive = UINT32_MAX;

  BlockMap() : places_(size_t{1} << kLeastBits) {}

  void prefetch(uint64_t address) const { __builtin_prefetch(&places_[place_of(address)], 1); }

  // Null: nothing was ever allocated at that address (or it was forgotten, dead for long). Valid until the next allocate().
  Block* find(uint64_t address) {
    Place& place = probe(address);
    return place.key == 0 ? nullptr : &place.block;
  }

  // The place of that address, for the caller to fill: what was there last, or nothing that ever was alive. Valid until the
  // next call.
  Block& claim(uint64_t address) {
    Place* place = &probe(address);
    if (place->key == 0) [[unlikely]]
      place = &add(*place, address);
    return place->block;
  }
  void allocate(uint64_t address, const Block& block) { claim(address) = block; }

  // Undoes the release of a block that was the last thing at its address.
  static void revive(Block& block) {
    block.number &= ~kOld;
    block.released_at = kAlive;
  }

  // Calls visit(address, block) for each live block, in no order.
  template <typename Visit>
  void for_each_live(Visit visit) const {
    for (const Place& place : places_) {
      if (place.key != 0 && place.block.alive()) visit(place.key - 1, place.block);
    }
  }

  // The live block that holds this address inside it; null: none. Looks at all of them.
  const Block* find_around(uint64_t address) const;

 private:
  static constexpr model::BlockNumber kOld = model::BlockNumber{1} << 63;  // in a number: was dead at the last sweep
  static constexpr unsigned kLeastBits = 10;
  static constexpr unsigned kLeastSweptBits = 17;  // smaller tables grow rather than forget

  struct alignas(32) Place {
    uint64_t key = 0;  // address + 1; 0: empty
    Block block{};
  };
  static_assert(sizeof(Place) == 32);

  // Allocators hand out addresses on 16-byte boundaries, one after the other: the product's high bits spread them.
  [[nodiscard]] size_t place_of(uint64_t address) const { return (address * 0x9e3779b97f4a7c15u) >> shift_; }
  // Where the address is, or the empty place where it would come. Places are always empty.
  Place& probe(uint64_t address) {
    size_t at = place_of(address);
    while (places_[at].key != address + 1 && places_[at].key != 0) [[unlikely]]
      at = (at + 1) & (places_.size() - 1);
    return places_[at];
  }
  [[nodiscard]] size_t most_used() const { return places_.size() / 8 * 5; }
  Place& add(Place& empty, uint64_t address);
  void make_room();
  static void sweep(std::vector<Place>& places);

  std::vector<Place> places_;  // its size is a power of two
  unsigned shift_ = 64 - kLeastBits;
  size_t used_ = 0;
};

}  // namespace heaptap::intake
