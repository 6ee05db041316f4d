#include "host/intake/block_map.h"

#include <algorithm>
#include <utility>

namespace heaptap::intake {

const BlockMap::Block* BlockMap::find_around(uint64_t address) const {
  for (const Place& place : places_) {
    const uint64_t start = place.key - 1;
    if (place.key != 0 && place.block.alive() && address > start && address - start < place.block.size) {
      return &place.block;
    }
  }
  return nullptr;
}

BlockMap::Place& BlockMap::add(Place& empty, uint64_t address) {
  Place* place = &empty;
  if (used_ >= most_used()) {
    make_room();
    place = &probe(address);
  }
  ++used_;
  place->key = address + 1;
  return *place;
}

// A table of some size forgets the dead that were dead the last time already. Where more than a quarter of what it takes is
// alive, it is doubled, since it would soon be full again.
void BlockMap::make_room() {
  std::vector<Place> old(places_.size());
  std::swap(old, places_);
  if (old.size() >= size_t{1} << kLeastSweptBits) sweep(old);
  const auto is_used = [](const Place& place) { return place.key != 0; };
  used_ = static_cast<size_t>(std::count_if(old.begin(), old.end(), is_used));
  if (used_ > most_used() / 8 * 5) places_.resize(old.size() * 2);
  shift_ = 64 - static_cast<unsigned>(__builtin_ctzll(places_.size()));
  for (const Place& place : old) {
    if (is_used(place)) probe(place.key - 1) = place;
  }
}

void BlockMap::sweep(std::vector<Place>& places) {
  for (Place& place : places) {
    if (place.key == 0 || place.block.alive()) continue;
    if ((place.block.number & kOld) != 0) place.key = 0;
    place.block.number |= kOld;
  }
}

}  // namespace heaptap::intake
