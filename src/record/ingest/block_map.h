// Map from addresses to live blocks, while a trace is written: turns a release's address into its allocation's number.
// Also keeps recently released blocks, so that a double release can be told from a release of memory that was never
// allocated. A specialized hash table, since its lookups dominate a collector's time, and its size a collector's memory.
//
// Blocks take 16 bytes (packed_block.h), four a cache line. Lines belong to segments of 4 to 64 KiB, each of which is a
// table by itself: full at 13/16, or where no place is left within kWindow lines, it grows by a quarter, and is split in
// two beyond 64 KiB. The first bits of an address's hash select the segment, by a directory that doubles (extendible
// hashing), and the bits behind them the line. So nothing takes longer than a segment does, and segments are independent.
//
// What doesn't fit into a packed block, or whose hash is like that of too many others, is kept beside them in a balanced
// tree: larger and slower, but exact, and no addresses can make it worse than that.
//
// Promised of released blocks: all are remembered, until their address is used again, while they are at most
// kLeastRemembered or a quarter of the live blocks. While they are more, a hand goes around, kSweptAtOnce places a
// release: what was released when it came by, and still is when it comes by again, is forgotten, and segments shrink to
// what is left.
#pragma once
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "common/model/event.h"
#include "record/ingest/packed_block.h"
#include "record/ingest/segment_memory.h"

namespace heaptap::ingest {

class BlockMap {
  struct Beside {
    Block block{};
    bool is_old = false;  // PackedBlock::after_round()
    bool is_none = true;  // claimed, and not yet filled
  };
  struct alignas(64) Line {
    static constexpr size_t kPlaces = 4;
    std::array<uint64_t, 2 * kPlaces> words;  // keys, of which empty ones (0) are last; facts
    [[nodiscard]] std::span<uint64_t, kPlaces> facts() { return std::span(words).last<kPlaces>(); }
  };
  static uint64_t& facts_of(uint64_t* key) { return key[Line::kPlaces]; }

 public:
  using Block = ingest::Block;
  static constexpr model::SiteId kAlive = Block::kAlive;

  // Place of an address. Valid until the next function of the map that isn't const.
  class Place {
   public:
    Place() : Place(nowhere.words.data()) {}  // none
    explicit operator bool() const { return is_beside() || facts() != 0; }
    [[nodiscard]] bool alive() const {
      return is_beside() ? !beside().is_none && beside().block.alive() : PackedBlock::is_alive(facts());
    }
    [[nodiscard]] Block block() const {
      return is_beside() ? beside().block : PackedBlock{.key = key(), .facts = facts()}.unpacked();
    }
    [[nodiscard]] model::BlockNumber number() const {  // of a live block
      return is_beside() ? beside().block.number : PackedBlock::number_of(facts());
    }
    [[nodiscard]] model::SiteId allocated_at() const {
      return is_beside() ? beside().block.allocated_at : PackedBlock::allocated_at(key(), facts());
    }

   private:
    friend BlockMap;
    explicit Place(uint64_t* packed) : bits_(reinterpret_cast<uintptr_t>(packed)) {}
    explicit Place(Beside& beside) : bits_(reinterpret_cast<uintptr_t>(&beside) | 1) {}
    [[nodiscard]] bool is_beside() const { return (bits_ & 1) != 0; }
    [[nodiscard]] Beside& beside() const { return *reinterpret_cast<Beside*>(bits_ & ~uintptr_t{1}); }
    [[nodiscard]] uint64_t& key() const { return *reinterpret_cast<uint64_t*>(bits_); }
    [[nodiscard]] uint64_t& facts() const { return facts_of(&key()); }
    uintptr_t bits_;  // address of a key in a line, whose facts follow; with the lowest bit set of a block beside
  };

  explicit BlockMap(size_t least_remembered = kLeastRemembered);
  BlockMap(const BlockMap&) = delete;
  BlockMap& operator=(const BlockMap&) = delete;
  // Only the lowest 48 bits of an address count.

  // (Forced inlining: GCC considers a function that only prefetches to have no effect, and drops its calls.)
  [[gnu::always_inline]] void prefetch(uint64_t address) const {
    const uint64_t hash = hash_of(PackedBlock::key_of(address));
    const Segment& segment = segment_of(hash);
    __builtin_prefetch(&segment.lines[segment.home_of(hash)], 1);
  }

  // None: nothing was ever allocated there (or the released block was forgotten).
  [[nodiscard]] Place find(uint64_t address) const {
    const Place place(find_packed(address));
    return place.facts() != 0 ? place : find_beside(address);
  }

  // The place for that address: contains its last block, or none. fill() has to be next, unless the block is alive.
  Place claim(uint64_t address) {
    const Place place(find_packed(address));
    return place.facts() != 0 ? place : add(address);
  }
  // With a live block.
  void fill(Place place, const Block& block) {
    if (place.is_beside() || !PackedBlock::fits(block)) [[unlikely]]
      return fill_beside(place, block);
    released_ -= PackedBlock::is_alive(place.facts()) ? 0 : 1;
    live_bytes_ += block.size_bytes;
    const PackedBlock packed = PackedBlock::of(PackedBlock::without_site(place.key()), block);
    place.key() = packed.key;
    place.facts() = packed.facts;
  }
  void allocate(uint64_t address, const Block& block) { fill(claim(address), block); }

  void release(Place place, model::SiteId site) {
    if (place.is_beside()) [[unlikely]] {
      place.beside().block.released_at = site;
      live_bytes_ -= place.beside().block.size_bytes;
    } else {
      live_bytes_ -= PackedBlock::size_of(place.facts());
      place.facts() = PackedBlock::released(place.facts(), site);
    }
    if (++released_ > released_limit_) [[unlikely]]
      tend();
  }
  // Undoes the release of the last block at its address, which had this number.
  void revive(Place place, model::BlockNumber number);

  [[nodiscard]] size_t live_count() const { return known_ - released_; }
  [[nodiscard]] uint64_t live_bytes() const { return live_bytes_; }
  // Memory that the map takes, with what the tree's nodes take by malloc.
  [[nodiscard]] size_t bytes() const;

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

  // The live block that contains this address, of several the one that begins last. Linear search.
  [[nodiscard]] std::optional<Block> find_around(uint64_t address) const;

  static constexpr size_t kLeastRemembered = size_t{1} << 16;

 private:
  struct Segment {
    Line* lines = nullptr;
    uint16_t line_count = 0;
    uint16_t depth = 0;  // bits of the hash that all of its blocks share
    uint32_t used = 0;   // places that aren't empty; valid in the first of its entries of the directory
    // In the hashes' order.
    [[nodiscard]] size_t home_of(uint64_t hash) const { return ((hash << depth >> 32) * line_count) >> 32; }
    [[nodiscard]] size_t places() const { return size_t{line_count} * Line::kPlaces; }
    [[nodiscard]] bool is_full() const { return used >= places() * 13 / 16; }
  };
  struct Contents;

  static constexpr size_t kLinesInPage = SegmentMemory::kPageBytes / sizeof(Line);
  static constexpr size_t kPlacesInPage = kLinesInPage * Line::kPlaces;
  static constexpr size_t kMaxPages = SegmentMemory::kSlotBytes / SegmentMemory::kPageBytes;
  static constexpr unsigned kMaxDepth = 26;
  static constexpr unsigned kWindow = 16;  // lines in which a block may be, from its home on
  static constexpr size_t kSweptAtOnce = 8;

  // Allocators return ascending addresses with some alignment: their product with the golden ratio has gaps of at most
  // three lengths, so that lines are filled evenly.
  static constexpr uint64_t hash_of(uint64_t key) { return (key >> PackedBlock::kKeyShift) * 0x9e3779b97f4a7c15u; }
  [[nodiscard]] size_t index_of(uint64_t hash) const { return hash >> (64 - depth_); }
  [[nodiscard]] const Segment& segment_of(uint64_t hash) const { return directory_[index_of(hash)]; }
  [[nodiscard]] Segment& first_entry_of(uint64_t hash) {
    const size_t index = index_of(hash);
    return directory_[index & ~((size_t{1} << (depth_ - directory_[index].depth)) - 1)];
  }

  // A key's place; `nowhere` if it has none.
  [[nodiscard]] uint64_t* find_packed(uint64_t address) const {
    const uint64_t key = PackedBlock::key_of(address);
    if (!PackedBlock::is_aligned(key)) [[unlikely]]
      return nowhere.words.data();
    const uint64_t hash = hash_of(key);
    return probe(segment_of(hash), hash, key);
  }

  // Places of the line that have this key: a bit each, found without a branch, since it would be unpredictable.
  static unsigned matches(const Line& line, uint64_t key) {
#if defined(__SSE2__)
    const auto* const keys = reinterpret_cast<const __m128i*>(line.words.data());
    const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(key));
    const auto rest = [wanted](__m128i two) {  // 0: the same
      return _mm_castsi128_ps(_mm_srli_epi64(_mm_xor_si128(two, wanted), PackedBlock::kKeyShift));
    };
    const __m128 first = rest(_mm_load_si128(keys));
    const __m128 second = rest(_mm_load_si128(keys + 1));
    const __m128 either = _mm_or_ps(_mm_shuffle_ps(first, second, 0x88), _mm_shuffle_ps(first, second, 0xdd));
    return static_cast<unsigned>(
        _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(_mm_castps_si128(either), _mm_setzero_si128()))));
#else
    unsigned found = 0;
    for (unsigned i = 0; i < Line::kPlaces; ++i) {
      found |= static_cast<unsigned>(PackedBlock::is_same(line.words[i], key)) << i;
    }
    return found;
#endif
  }

  static uint64_t* probe(const Segment& segment, uint64_t hash, uint64_t key) {
    size_t at = segment.home_of(hash);
    for (unsigned left = kWindow; left > 0; --left) {
      Line& line = segment.lines[at];
      const unsigned found = matches(line, key);
      if (found != 0) [[likely]]
        return line.words.data() + static_cast<unsigned>(std::countr_zero(found));
      if (line.words[Line::kPlaces - 1] == 0) break;
      at = at + 1 == segment.line_count ? 0 : at + 1;
    }
    return nowhere.words.data();
  }
  // A place without a block within the window; null: none.
  static uint64_t* free_place(const Segment& segment, uint64_t hash);

  template <typename Visit>
  static void for_each_in(const Segment& segment, Visit visit) {
    for (const Line& line : std::span(segment.lines, segment.line_count)) {
      for (size_t i = 0; i < Line::kPlaces; ++i) {
        const uint64_t facts = line.words[Line::kPlaces + i];
        if (facts != 0) visit(PackedBlock{line.words[i], facts});
      }
    }
  }
  template <typename Visit>
  void for_each_segment(Visit visit) const {
    for (size_t i = 0; i < directory_.size(); i += size_t{1} << (depth_ - directory_[i].depth)) visit(directory_[i]);
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for_each_segment([&visit](const Segment& segment) {
      for_each_in(segment, [&visit](const PackedBlock& packed) {
        visit(PackedBlock::address_of(packed.key), packed.unpacked());
      });
    });
    for (const auto& [address, beside] : beside_) {
      if (!beside.is_none) visit(address, beside.block);
    }
  }

  [[nodiscard]] Place find_beside(uint64_t address) const { return beside_.empty() ? Place() : find_in_tree(address); }
  [[nodiscard]] Place find_in_tree(uint64_t address) const;
  Place add(uint64_t address);
  void fill_beside(Place place, const Block& block);

  uint64_t* make_place(uint64_t hash);
  bool make_room(uint64_t hash);
  [[nodiscard]] bool may_split(const Segment& segment) const;
  void split(uint64_t hash, const Segment& segment, Contents& contents);
  void rebuild(Segment& segment, size_t pages, std::span<const PackedBlock> blocks);
  void set_segment(uint64_t hash, const Segment& segment);
  [[nodiscard]] Segment make_segment(unsigned depth);

  void tend();
  void sweep_segment(uint64_t hash);
  bool merge(uint64_t hash, Contents& contents);
  void sweep_beside();
  void halve_directory();

  // The place of what isn't there: without a block, never written to.
  static inline Line nowhere{};

  // By the first `depth_` bits of hashes: a segment that shares fewer is there several times.
  std::vector<Segment> directory_;
  unsigned depth_ = 1;  // at least, since a word can't be shifted by 64 bits
  SegmentMemory memory_;
  size_t segment_count_ = 0;
  size_t pages_ = 0;
  std::array<uint32_t, kMaxDepth + 1> at_depth_{};  // segments
  mutable std::map<uint64_t, Beside> beside_;       // by address; changed through places
  size_t known_ = 0;                                // live blocks and released ones
  size_t released_ = 0;                             // with one that was claimed and not yet filled
  uint64_t live_bytes_ = 0;
  size_t least_remembered_;
  size_t released_limit_;  // beyond it, they are swept

  uint64_t hand_ = 0;            // hash: the segment to be swept next
  size_t credit_ = 0;            // places that may be swept
  bool is_hand_beside_ = false;  // at the address below
  uint64_t beside_hand_ = 0;
};

}  // namespace heaptap::ingest
