// Page of the BlockTable: a range of block numbers. One entry for each number while many blocks live, a sorted array with an index
// once few are left.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "analysis/ledger/block.h"
#include "common/base/large_allocator.h"

namespace heaptap::ledger {

inline constexpr uint32_t kPageBlocks = 2048;

// Per-block record. Loading it into the cache is most of a release's cost, so it is as small as possible.
struct BlockSlot {
  static constexpr uint32_t kLarge = 0xffffffff;  // the size is in BlockTable::large_sizes_
  model::SiteId site = kNoSite;                   // kNoSite: no live block
  uint32_t size_bytes = 0;
};

// Optional per-block detail.
struct BlockDetail {
  uint64_t allocated_at_ns = 0;
  uint64_t address = 0;
  model::ThreadId thread = 0;
};

// Index of a sparse page: which blocks are in its sorted array, and where.
struct SparseIndex {
  struct Word {
    uint64_t offsets = 0;  // a bit each
    uint64_t before = 0;   // number of bits in earlier words
  };
  std::array<Word, kPageBlocks / 64> words;

  // To be called once all bits are set.
  void count() {
    for (size_t word = 1; word < words.size(); ++word) {
      words[word].before = words[word - 1].before + count_bits(words[word - 1].offsets);
    }
  }

  // Number of blocks with smaller offsets.
  [[nodiscard]] uint32_t place_of(uint32_t offset) const {
    const Word& word = words[offset / 64];
    return static_cast<uint32_t>(word.before) + count_bits(word.offsets & ((uint64_t{1} << offset % 64) - 1));
  }
  [[nodiscard]] bool has(uint32_t offset) const { return (words[offset / 64].offsets >> offset % 64 & 1) != 0; }

  // Portable popcount: std::popcount is a call unless the CPU is known to have the instruction.
  static uint32_t count_bits(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return static_cast<uint32_t>(bits * 0x0101010101010101 >> 56);
  }
};

// Deleter of a page's slots. Slots of dense pages come from slabs after the first few pages; slabs are never freed, their pages reused.
struct ReleaseSlots {
  ReleaseSlots() : is_in_slab(false) {}
  explicit ReleaseSlots(bool in_slab) : is_in_slab(in_slab) {}
  bool is_in_slab;
  void operator()(BlockSlot* slots) const {
    if (!is_in_slab) delete[] slots;
  }
};

// Arrays of a page, indexed alike.
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
  static BlockSlot* const kNoSlots;  // placeholder of an empty page; read-only

  BlockSlot* dense = kNoSlots;  // the slots of a dense page
  uint32_t live = 0;
  uint32_t shrink_at = kNever;          // number of live blocks at which to shrink; 0: free the page
  std::unique_ptr<BlockArrays> arrays;  // null: empty

  [[nodiscard]] bool is_dense() const { return dense != kNoSlots; }

  static constexpr uint32_t kNoPlace = ~uint32_t{0};
  // Index of a live block in the arrays; else kNoPlace.
  [[nodiscard]] uint32_t find(uint32_t offset) const {
    if (arrays == nullptr) return kNoPlace;
    if (arrays->index != nullptr) {
      if (!arrays->index->has(offset)) return kNoPlace;
      offset = arrays->index->place_of(offset);
    }
    return arrays->slots[offset].site == kNoSite ? kNoPlace : offset;
  }

  // Calls visit(offset, place) for each live block, in ascending order.
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
