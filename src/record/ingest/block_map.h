// Map from addresses to live blocks, while a trace is written: turns a release's address into its allocation's number.
// Also keeps recently released blocks, so that a double release can be told from a release of memory that was never
// allocated. A specialized hash table, since its lookups dominate a collector's time: a block takes half a cache line,
// and its place can be prefetched. Maintenance is incremental, since the log fills in the meantime: each allocation at
// a new address does a part of it.
//
//   of the places are used  6/16 on: a clock hand removes blocks that were dead already at its last pass
//                           9/16 on: the memory of a table of twice the size is allocated
//                           10/16: the new table takes over, and the blocks are moved
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/model/event.h"

namespace heaptap::ingest {

class BlockMap {
 public:
  struct Block {
    model::BlockNumber number;  // of the live block
    uint64_t size_bytes;
    model::SiteId allocated_at;
    model::SiteId released_at;  // kAlive: not released
    [[nodiscard]] bool alive() const { return released_at == kAlive; }
  };
  static constexpr model::SiteId kAlive = UINT32_MAX;

  BlockMap() : now_(kLeastBits) {}
  // Only the lowest 48 bits of an address count.

  // (Forced inlining: GCC considers a function that only prefetches to have no effect, and drops its calls.)
  [[gnu::always_inline]] void prefetch(uint64_t address) const {
    now_.prefetch(address);
    if (old_.size() != 0) [[unlikely]]
      old_.prefetch(address);
  }

  // Null: nothing was ever allocated there (or the dead block was evicted). Valid until the next call.
  Block* find(uint64_t address) {
    Place& place = now_.probe(address);
    return place.key != 0 ? &place.block : find_old(address);
  }

  // The place for that address, to be filled by the caller: contains its last block, or one that was never alive. Valid
  // until the next call for another address.
  Block& claim(uint64_t address) {
    Place& place = now_.probe(address);
    return place.key != 0 ? place.block : add(address);
  }
  void allocate(uint64_t address, const Block& block) { claim(address) = block; }

  // Undoes the release of the last block at its address.
  static void revive(Block& block) {
    block.number &= ~kOld;
    block.released_at = kAlive;
  }

  // Calls visit(address, block) for each live block, in no particular order.
  template <typename Visit>
  void for_each_live(Visit visit) const {
    for_each([&visit](uint64_t address, const Block& block) {
      if (block.alive()) visit(address, block);
    });
  }
  // The same for each remembered released block whose address wasn't reused.
  template <typename Visit>
  void for_each_released(Visit visit) const {
    for_each([&visit](uint64_t address, const Block& block) {
      if (!block.alive()) visit(address, block);
    });
  }

  // The live block that contains this address; null: none. Linear search.
  const Block* find_around(uint64_t address) const;

 private:
  template <typename Visit>
  void for_each(Visit visit) const {
    const auto show = [&visit](const Place& place) {
      if (place.key != 0) visit(address_of(place), place.block);
    };
    for (size_t i = 0; i < now_.size(); ++i) show(now_[i]);
    for (size_t i = moved_; i < old_.size(); ++i) {
      if (is_only_in_old(old_[i])) show(old_[i]);
    }
  }

  static constexpr model::BlockNumber kOld = model::BlockNumber{1}
                                             << 63;  // in a number: was dead at the hand's last pass
  static constexpr unsigned kLeastBits = 10;
  static constexpr unsigned kLeastSweptBits = 17;  // smaller tables grow instead of evicting

  struct alignas(32) Place {
    uint64_t key;  // see key_of(); 0: empty
    Block block;
  };
  static_assert(sizeof(Place) == 32);
  // An address has 48 bits. Drops the bits above, so that a record's word needn't be unpacked.
  static constexpr uint64_t key_of(uint64_t address) { return address << 16 | 1; }
  static constexpr uint64_t address_of(const Place& place) { return place.key >> 16; }

  // Zeroed mapping that takes memory only where it is used.
  class Table {
   public:
    Table() = default;  // no places
    explicit Table(unsigned bits);
    Table(Table&& other) noexcept { swap(other); }
    Table& operator=(Table&& other) noexcept {
      Table(std::move(other)).swap(*this);
      return *this;
    }
    ~Table();
    void swap(Table& other) noexcept {
      std::swap(places_, other.places_);
      std::swap(size_, other.size_);
      std::swap(shift_, other.shift_);
    }

    [[nodiscard]] size_t size() const { return size_; }
    [[nodiscard]] Place& operator[](size_t index) const { return places_[index]; }
    [[nodiscard]] size_t index_of(const Place& place) const { return static_cast<size_t>(&place - places_); }
    void remove(size_t index);
    [[gnu::always_inline]] void prefetch(uint64_t address) const { __builtin_prefetch(&places_[home_of(address)], 1); }
    // The place of the address, or the empty place for it. There are always empty places. The two places of a cache
    // line are compared without a branch, since it would be unpredictable.
    [[nodiscard]] Place& probe(uint64_t address) const {
      size_t at = home_of(address);
      for (const uint64_t key = key_of(address);;) {
        Place* place = &places_[at];
        place += is_for(*place, key) ? 0 : 1;
        if (is_for(*place, key)) [[likely]]
          return *place;
        at = (at + 2) & (size_ - 1);
      }
    }

   private:
    static bool is_for(const Place& place, uint64_t key) {
      return static_cast<bool>(static_cast<int>(place.key == key) | static_cast<int>(place.key == 0));
    }
    // Allocators return ascending addresses with 16-byte alignment: the product's high bits spread them.
    [[nodiscard]] size_t home_of(uint64_t address) const {
      return ((address << 16) * 0x9e3779b97f4a7c15u) >> shift_ << 1;
    }

    Place* places_ = nullptr;
    size_t size_ = 0;  // a power of two
    unsigned shift_ = 63;
  };

  [[nodiscard]] size_t sixteenths(size_t count) const { return now_.size() / 16 * count; }
  Block* find_old(uint64_t address);
  Block& add(uint64_t address);
  void make_room();
  void sweep_some();
  void prepare_next();
  void turn_over();
  void move_some(size_t places);
  Place& move(const Place& place);
  [[nodiscard]] bool is_only_in_old(const Place& place) const {
    return place.key != 0 && now_.probe(address_of(place)).key == 0;
  }

  Table now_;
  size_t used_ = 0;  // places of it
  size_t hand_ = 0;
  Table next_;  // being allocated
  size_t touched_ = 0;
  Table old_;         // being moved from; not modified
  size_t moved_ = 0;  // places of it
};

}  // namespace heaptap::ingest
