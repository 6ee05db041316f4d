// Block of the collector's table in 16 bytes: two words.
//
//   key     address / 8   45 bits | where it was allocated: low 19 bits
//   facts   alive?         1 bit  | the site's high 3 bits | size 22 bits | its number                              38 bits
//           of a released block:                                          | 1 | 4 unused | old? | where, 32 bits    38 bits
//
// A key of 0 is an empty place; facts of 0: no block. What doesn't fit is kept elsewhere (BlockMap).
#pragma once
#include <cstdint>

#include "common/model/event.h"

namespace heaptap::ingest {

// Block as BlockMap's users see it.
struct Block {
  model::BlockNumber number;  // of the live block; of a released one unknown
  uint64_t size_bytes;
  model::SiteId allocated_at;
  model::SiteId released_at;  // kAlive: not released
  static constexpr model::SiteId kAlive = UINT32_MAX;
  [[nodiscard]] bool alive() const { return released_at == kAlive; }
};

struct PackedBlock {
  static constexpr unsigned kKeyShift = 19;
  static constexpr unsigned kNumberBits = 38;
  static constexpr unsigned kSizeBits = 22;
  static constexpr unsigned kSiteBits = 22;

  uint64_t key;
  uint64_t facts;

  // An address has 48 bits. Drops the bits above, so that a record's word needn't be unpacked.
  static constexpr uint64_t key_of(uint64_t address) { return address << 16; }
  static constexpr uint64_t address_of(uint64_t key) { return key >> kKeyShift << 3; }
  static constexpr bool is_aligned(uint64_t key) { return (key & kSiteInKey) == 0; }
  static constexpr bool fits(uint64_t key) { return is_aligned(key) && key != 0; }
  static constexpr bool fits(const Block& block) {
    return ((block.number >> kNumberBits) | (block.size_bytes >> kSizeBits) | (block.allocated_at >> kSiteBits)) == 0;
  }
  static constexpr uint64_t without_site(uint64_t key) { return key & ~kSiteInKey; }
  static constexpr bool is_same(uint64_t key, uint64_t other) { return ((key ^ other) >> kKeyShift) == 0; }

  // Of a live block that fits.
  static constexpr PackedBlock of(uint64_t key, const Block& block) {
    return {.key = key | (block.allocated_at & kSiteInKey),
            .facts = kAlive | uint64_t{block.allocated_at >> kKeyShift} << kSiteShift |
                     block.size_bytes << kNumberBits | block.number};
  }
  [[nodiscard]] constexpr Block unpacked() const {
    return {.number = is_alive(facts) ? number_of(facts) : model::kUnknownBlock,
            .size_bytes = size_of(facts),
            .allocated_at = allocated_at(key, facts),
            .released_at = is_alive(facts) ? Block::kAlive : released_at(facts)};
  }

  static constexpr bool is_alive(uint64_t facts) { return (facts & kAlive) != 0; }
  static constexpr model::BlockNumber number_of(uint64_t facts) { return facts & kNumber; }
  static constexpr uint64_t size_of(uint64_t facts) { return facts >> kNumberBits & ((uint64_t{1} << kSizeBits) - 1); }
  static constexpr model::SiteId allocated_at(uint64_t key, uint64_t facts) {
    return static_cast<model::SiteId>((key & kSiteInKey) | (facts >> kSiteShift & 7) << kKeyShift);
  }
  static constexpr model::SiteId released_at(uint64_t facts) { return static_cast<model::SiteId>(facts); }
  static constexpr uint64_t released(uint64_t facts, model::SiteId site) {
    return (facts & ~kNumber & ~kAlive) | kReleased | site;
  }

  // What a round makes of a block: a released one becomes old, of an old one nothing is left (0). Without branches.
  static constexpr uint64_t after_round(uint64_t facts) {
    const uint64_t released = 0 - (facts >> kReleasedBit & ~(facts >> 63) & 1);
    const uint64_t old = released & (0 - (facts >> kOldBit & 1));
    return (facts | (released & uint64_t{1} << kOldBit)) & ~old;
  }

 private:
  static constexpr unsigned kSiteShift = kNumberBits + kSizeBits;
  static constexpr uint64_t kSiteInKey = (uint64_t{1} << kKeyShift) - 1;
  static constexpr uint64_t kNumber = (uint64_t{1} << kNumberBits) - 1;
  static constexpr uint64_t kAlive = uint64_t{1} << 63;
  static constexpr unsigned kReleasedBit = kNumberBits - 1;
  static constexpr uint64_t kReleased = uint64_t{1} << kReleasedBit;
  static constexpr unsigned kOldBit = 32;
};
static_assert(sizeof(PackedBlock) == 16);

}  // namespace heaptap::ingest
