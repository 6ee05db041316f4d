// What is alive at which address, while a trace is written: turns the address of a release into its allocation's number.
// Remembers blocks that were released not long ago too, so that a second release can be told from one of memory that was
// never allocated. A table of its own, since its look-ups are what a collector waits for: a block is half a cache line, and
// its place can be fetched before it is needed. Nothing is done to all of it at once, since the log fills meanwhile: each
// allocation at an address that has no place yet does a bit.
//
//   of the places are used  6/16 on: a hand goes round and takes out what was dead already when it came by the last time
//                           9/16 on: the memory of a table of twice the size is made
//                          10/16: that one takes its place, and the blocks move over
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "model/event.h"

namespace heaptap::collect {

class BlockMap {
 public:
  struct Block {
    model::BlockNumber number;  // of a live one
    uint64_t size_bytes;
    model::SiteId allocated_at;
    model::SiteId released_at;  // kAlive while it is alive
    [[nodiscard]] bool alive() const { return released_at == kAlive; }
  };
  static constexpr model::SiteId kAlive = UINT32_MAX;

  BlockMap() : now_(kLeastBits) {}
  // Of an address below, the lowest 48 bits count.

  // (Inlined by force: GCC takes a function that only fetches ahead for one without effect, and leaves its calls out.)
  [[gnu::always_inline]] void prefetch(uint64_t address) const {
    now_.prefetch(address);
    if (old_.size() != 0) [[unlikely]]
      old_.prefetch(address);
  }

  // Null: nothing was ever allocated at that address (or it was forgotten, dead for long). Valid until the next call.
  Block* find(uint64_t address) {
    Place& place = now_.probe(address);
    return place.key != 0 ? &place.block : find_old(address);
  }

  // The place of that address, for the caller to fill: what was there last, or nothing that ever was alive. Valid until the
  // next call, but for those about the same address.
  Block& claim(uint64_t address) {
    Place& place = now_.probe(address);
    return place.key != 0 ? place.block : add(address);
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
    for_each([&visit](uint64_t address, const Block& block) {
      if (block.alive()) visit(address, block);
    });
  }
  // And for each that was released, as far as it is remembered, and whose address wasn't handed out again.
  template <typename Visit>
  void for_each_released(Visit visit) const {
    for_each([&visit](uint64_t address, const Block& block) {
      if (!block.alive()) visit(address, block);
    });
  }

  // The live block that holds this address inside it; null: none. Looks at all of them.
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
                                             << 63;  // in a number: was dead when the hand came by
  static constexpr unsigned kLeastBits = 10;
  static constexpr unsigned kLeastSweptBits = 17;  // smaller tables grow rather than forget

  struct alignas(32) Place {
    uint64_t key;  // see key_of(); 0: empty
    Block block;
  };
  static_assert(sizeof(Place) == 32);
  // An address has 48 bits. What stands above them goes away, so that a record's word needn't be taken apart.
  static constexpr uint64_t key_of(uint64_t address) { return address << 16 | 1; }
  static constexpr uint64_t address_of(const Place& place) { return place.key >> 16; }

  // Memory of its own, which begins as zeroes and is touched only where it is used.
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
    // Where the address is, or the empty place where it would come. Places are always empty. A cache line's two places are
    // tried without a branch, since which of them it is can't be foreseen.
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
    // Allocators hand out addresses on 16-byte boundaries, one after the other: the product's high bits spread them.
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
  Table next_;  // one that is being made
  size_t touched_ = 0;
  Table old_;         // one whose blocks move over; it stays as it was
  size_t moved_ = 0;  // places of it
};

}  // namespace heaptap::collect
