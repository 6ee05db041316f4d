// A run of numbered blocks for the BlockTable: one entry for each number while many of them live, a sorted array with an
// index once few are left.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/large_allocator.h"
#include "ledger/block.h"

namespace heaptap::ledger {

inline constexpr uint32_t kPageBlocks = 2048;

// What every block has. Most of what a release costs is the way of this into the cache, so it is as small as can be.
struct BlockSlot {
  static constexpr uint32_t kLarge = 0xffffffff;  // the size is kept elsewhere
  model::SiteId site = kNoSite;                   // kNoSite: no block that lives
  uint32_t size_bytes = 0;
};

// What is kept of a block where it was asked for.
struct BlockDetail {
  uint64_t allocated_at_ns = 0;
  uint64_t address = 0;
  model::ThreadId thread = 0;
};

// Which blocks of a page are in its sorted array, and where.
struct SparseIndex {
  struct Word {
    uint64_t offsets = 0;  // a bit each
    uint64_t before = 0;   // how many have bits in earlier words
  };
  std::array<Word, kPageBlocks / 64> words;

  // Once all bits are there.
  void count() {
    for (size_t word = 1; word < words.size(); ++word) {
      words[word].before = words[word - 1].before + count_bits(words[word - 1].offsets);
    }
  }

  // The number of blocks with smaller offsets.
  [[nodiscard]] uint32_t place_of(uint32_t offset) const {
    const Word& word = words[offset / 64];
    return static_cast<uint32_t>(word.before) + count_bits(word.offsets & ((uint64_t{1} << offset % 64) - 1));
  }
  [[nodiscard]] bool has(uint32_t offset) const { return (words[offset / 64].offsets >> offset % 64 & 1) != 0; }

  // std::popcount is a call where the processor isn't known to have an instruction for it.
  static uint32_t count_bits(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return static_cast<uint32_t>(bits * 0x0101010101010101 >> 56);
  }
};

// Slots of a dense page from the first few on lie in slabs, which stay: what was given back becomes a page again.
struct ReleaseSlots {
  ReleaseSlots() : is_in_slab(false) {}
  explicit ReleaseSlots(bool in_slab) : is_in_slab(in_slab) {}
  bool is_in_slab;
  void operator()(BlockSlot* slots) const {
    if (!is_in_slab) delete[] slots;
  }
};

// The arrays of a page, with the same places.
struct BlockArrays {
  std::unique_ptr<BlockSlot[], ReleaseSlots> slots;
  std::unique_ptr<BlockDetail[]> details;  // null: not kept
  std::unique_ptr<SparseIndex> index;      // of a sparse page; a dense one has an entry for each number
  uint32_t entries = 0;
};

struct BlockSlab {
  static constexpr size_t kSlots = base::kHugePageBytes / sizeof(BlockSlot);
  BlockSlab() : slots(base::LargeAllocator<BlockSlot>().allocate(kSlots)) {}
  BlockSlab(BlockSlab&& other) noexcept : slots(std::exchange(other.slots, nullptr)), used(other.used) {}
  ~BlockSlab() {
    if (slots != nullptr) base::LargeAllocator<BlockSlot>().deallocate(slots, kSlots);
  }
  BlockSlot* slots;
  size_t used = 0;
};

struct BlockPage {
  static constexpr uint32_t kNever = ~uint32_t{0};
  static BlockSlot* const kNoSlots;  // of nothing that lives; can't be written to

  BlockSlot* dense = kNoSlots;  // the slots of a dense page
  uint32_t live = 0;
  uint32_t shrink_at = kNever;          // live blocks at which to make it smaller; 0 makes it go
  std::unique_ptr<BlockArrays> arrays;  // null: nothing in it

  [[nodiscard]] bool is_dense() const { return dense != kNoSlots; }

  static constexpr uint32_t kNoPlace = ~uint32_t{0};
  // Where a block that lives is in the arrays; else kNoPlace.
  [[nodiscard]] uint32_t find(uint32_t offset) const {
    if (arrays == nullptr) return kNoPlace;
    if (arrays->index != nullptr) {
      if (!arrays->index->has(offset)) return kNoPlace;
      offset = arrays->index->place_of(offset);
    }
    return arrays->slots[offset].site == kNoSite ? kNoPlace : offset;
  }

  // Calls visit(offset, place) for all that live, in ascending order.
  template <typename Visit>
  void for_each_place(Visit visit) const {
    if (arrays == nullptr) return;
    const BlockSlot* slots = arrays->slots.get();
    if (arrays->index == nullptr) {
      for (uint32_t offset = 0; offset < kPageBlocks; ++offset) {
        if (slots[offset].site != kNoSite) visit(offset, offset);
      }
      return;
    }
    uint32_t place = 0;
    for (uint32_t word = 0; word < arrays->index->words.size(); ++word) {
      for (uint64_t bits = arrays->index->words[word].offsets; bits != 0; bits &= bits - 1, ++place) {
        if (slots[place].site != kNoSite) visit(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)), place);
      }
    }
  }
};

}  // namespace heaptap::ledger
