#include "record/ingest/block_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace heaptap::ingest {
namespace {

// Work per allocation. New memory is touched, and the blocks have moved, long before the next table is full; released
// blocks stay for one to two rounds of the hand, which are not more than a table takes.
constexpr size_t kSweptAtOnce = 4;
constexpr size_t kTouchedAtOnce = 128;  // a page
constexpr size_t kMovedAtOnce = 16;

}  // namespace

BlockMap::Table::Table(unsigned bits) : size_(size_t{1} << bits), shift_(65 - bits) {
  void* memory =
      mmap(nullptr, size_ * sizeof(Place), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  places_ = static_cast<Place*>(memory);
}

BlockMap::Table::~Table() {
  if (places_ != nullptr) munmap(static_cast<void*>(places_), size_ * sizeof(Place));
}

const BlockMap::Block* BlockMap::find_around(uint64_t address) const {
  const Block* found = nullptr;
  for_each_live([&](uint64_t start, const Block& block) {
    if (address > start && address - start < block.size_bytes) found = &block;
  });
  return found;
}

// Moves an entry that is still in the old table.
BlockMap::Block* BlockMap::find_old(uint64_t address) {
  if (old_.size() == 0) return nullptr;
  const Place& place = old_.probe(address);
  if (place.key == 0 || old_.index_of(place) < moved_) return nullptr;
  return &move(place).block;
}

BlockMap::Block& BlockMap::add(uint64_t address) {
  make_room();
  if (Block* block = find_old(address); block != nullptr) return *block;
  Place& place = now_.probe(address);
  if (place.key == 0) {
    ++used_;
    place.key = key_of(address);
  }
  return place.block;
}

void BlockMap::make_room() {
  if (old_.size() > 0) return move_some(kMovedAtOnce);
  if (used_ < sixteenths(6)) return;
  if (now_.size() >= size_t{1} << kLeastSweptBits) sweep_some();
  if (used_ >= sixteenths(9)) prepare_next();
  if (used_ >= sixteenths(10)) turn_over();
}

void BlockMap::sweep_some() {
  for (size_t left = kSweptAtOnce; left > 0; --left) {
    Place& place = now_[hand_];
    if (place.key != 0 && !place.block.alive()) {
      if ((place.block.number & kOld) != 0) {
        now_.remove(hand_);
        --used_;
        continue;  // another one may have been moved here
      }
      place.block.number |= kOld;
    }
    hand_ = (hand_ + 1) & (now_.size() - 1);
  }
}

// Kernel memory is allocated at the first touch, which takes longer than all the rest.
void BlockMap::prepare_next() {
  if (next_.size() == 0) {
    next_ = Table(static_cast<unsigned>(__builtin_ctzll(now_.size())) + 1);
    touched_ = 0;
  }
  if (touched_ >= next_.size()) return;
  *static_cast<volatile uint64_t*>(&next_[touched_].key) = 0;
  touched_ += kTouchedAtOnce;
}

void BlockMap::turn_over() {
  old_ = std::move(now_);
  now_ = std::move(next_);
  moved_ = used_ = hand_ = 0;
}

void BlockMap::move_some(size_t places) {
  const size_t end = std::min(moved_ + places, old_.size());
  for (size_t i = end; i < std::min(end + places, old_.size()); ++i) now_.prefetch(address_of(old_[i]));
  for (; moved_ < end; ++moved_) {
    if (old_[moved_].key != 0) move(old_[moved_]);
  }
  if (moved_ < old_.size()) return;
  old_ = {};
  moved_ = 0;
}

BlockMap::Place& BlockMap::move(const Place& place) {
  Place& to = now_.probe(address_of(place));
  if (to.key != 0) return to;  // moved earlier
  to = place;
  ++used_;
  return to;
}

// Moves the following entries up, as long as each can still be found from its address's slot.
void BlockMap::Table::remove(size_t index) {
  const size_t mask = size_ - 1;
  for (size_t next = (index + 1) & mask; places_[next].key != 0; next = (next + 1) & mask) {
    const size_t home = home_of(address_of(places_[next]));
    if (((next - home) & mask) < ((next - index) & mask)) continue;
    places_[index] = places_[next];
    index = next;
  }
  places_[index] = {};
}

}  // namespace heaptap::ingest
