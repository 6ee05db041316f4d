// The live blocks by their number. Numbers come in ascending order and a release names its allocation's number, so this
// is an array in pages, not a hash table:
//
//   recent_   [page][page][ ][page]…[open page]     a page for each run of kPageBlocks numbers, directly indexed
//   old_      page number -> page                   pages with survivors from before the first of recent_
//
// A page is dense while many of its blocks live, an exactly sized sorted array with an index when few are left, and gone
// with its last block. So memory follows the live blocks, not the number of events.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "host/base/large_allocator.h"
#include "host/ledger/block.h"

namespace heaptap::ledger {

class BlockTable {
 public:
  static constexpr uint32_t kPageBlocks = 2048;
  static constexpr uint32_t kSparseBlocks = kPageBlocks / 8;  // a page with this many blocks left, or fewer, is sparse

  // `number` is larger than all before it, and not 0. Numbers may be left out.
  void insert(model::BlockNumber number, const Block& block) {
    const uint64_t page_number = page_of(number);
    if (page_number != open_page_) [[unlikely]] {
      open(page_number);
    }
    Page& page = recent_.back();
    const uint32_t offset = offset_of(number);
    for (; page.filled < offset; ++page.filled) {
      page.blocks[page.filled].site = kNoSite;
    }
    page.blocks[offset] = block;
    page.filled = offset + 1;
    ++page.live;
    ++live_blocks_;
  }

  // Takes a block out, after visit(block) has looked at it where it is: what was stored a moment ago is not copied as a
  // whole, which processors are slow at. False if it isn't alive.
  template <typename Visit>
  bool take(model::BlockNumber number, Visit visit) {
    Page* page = find_page(page_of(number));
    Block* slot = page == nullptr ? nullptr : find_slot(*page, offset_of(number));
    if (slot == nullptr) [[unlikely]] {
      return false;
    }
    visit(static_cast<const Block&>(*slot));
    slot->site = kNoSite;
    --live_blocks_;
    if (--page->live == page->shrink_at) [[unlikely]] {
      shrink(page_of(number), *page);
    }
    return true;
  }

  // Two steps on the way of a block that will be taken soon into the cache: what says where it is, then the block.
  void prefetch_place(model::BlockNumber number) const {
    const uint64_t index = page_of(number) - first_page_;
    if (index < recent_.size() && recent_[index].index != nullptr) {
      __builtin_prefetch(&recent_[index].index->words[offset_of(number) / 64]);
    }
  }
  void prefetch(model::BlockNumber number) const {
    const uint64_t index = page_of(number) - first_page_;
    if (index >= recent_.size() || recent_[index].blocks == nullptr) return;
    const Page& page = recent_[index];
    const uint32_t offset = offset_of(number);
    __builtin_prefetch(&page.blocks[page.index == nullptr ? offset : page.index->place_of(offset)], 1);
  }

  // Puts back a block that was taken.
  void restore(model::BlockNumber number, const Block& block);

  [[nodiscard]] uint64_t live_blocks() const { return live_blocks_; }

  // Bytes that the table holds on to, directory included.
  [[nodiscard]] uint64_t memory_bytes() const;

  // Calls visit(number, block) in ascending order of numbers.
  template <typename Visit>
  void for_each(Visit visit) const {
    std::vector<uint64_t> old_pages;
    for (const auto& [page_number, page] : old_) {
      old_pages.push_back(page_number);
    }
    std::sort(old_pages.begin(), old_pages.end());
    for (const uint64_t page_number : old_pages) {
      visit_page(page_number, old_.find(page_number)->second, visit);
    }
    for (size_t index = 0; index < recent_.size(); ++index) {
      visit_page(first_page_ + index, recent_[index], visit);
    }
  }

 private:
  static constexpr uint64_t kNoPage = ~uint64_t{0};
  static constexpr uint32_t kNever = ~uint32_t{0};
  static constexpr size_t kLeastDirectory = 1024;
  static constexpr size_t kPagesBeforeSlabs = 16;

  // Which blocks of a page are in its sorted array, and where.
  struct SparseIndex {
    struct Word {
      uint64_t offsets = 0;  // a bit each
      uint64_t before = 0;   // how many have bits in earlier words
    };
    std::array<Word, kPageBlocks / 64> words;

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

  // Dense pages from the first few on lie in slabs, which stay: what was given back becomes a page again.
  struct Release {
    Release() : is_in_slab(false) {}
    explicit Release(bool in_slab) : is_in_slab(in_slab) {}
    bool is_in_slab;
    void operator()(Block* blocks) const {
      if (!is_in_slab) delete[] blocks;
    }
  };
  using Blocks = std::unique_ptr<Block[], Release>;
  static constexpr size_t kSlabBlocks = base::kHugePageBytes / sizeof(Block);
  struct Slab {
    Slab() : blocks(base::LargeAllocator<Block>().allocate(kSlabBlocks)) {}
    Slab(Slab&& other) noexcept : blocks(std::exchange(other.blocks, nullptr)), used(other.used) {}
    ~Slab() {
      if (blocks != nullptr) base::LargeAllocator<Block>().deallocate(blocks, kSlabBlocks);
    }
    Block* blocks;
    size_t used = 0;
  };

  struct Page {
    Blocks blocks;                       // null: nothing in it
    std::unique_ptr<SparseIndex> index;  // of a sparse page; null in a dense one
    uint32_t filled = 0;                 // entries of `blocks`
    uint32_t live = 0;
    uint32_t shrink_at = kNever;  // live blocks at which to make it smaller; 0 makes it go
  };

  static uint64_t page_of(model::BlockNumber number) { return (number - 1) / kPageBlocks; }
  static uint32_t offset_of(model::BlockNumber number) { return static_cast<uint32_t>((number - 1) % kPageBlocks); }

  Page* find_page(uint64_t page_number) {
    const uint64_t index = page_number - first_page_;
    if (index < recent_.size()) [[likely]] {
      return &recent_[index];
    }
    const auto found = old_.find(page_number);
    return found == old_.end() ? nullptr : &found->second;
  }

  static Block* find_slot(Page& page, uint32_t offset) {
    if (page.index != nullptr) {
      if (!page.index->has(offset)) {
        return nullptr;
      }
      offset = page.index->place_of(offset);
    } else if (offset >= page.filled) {
      return nullptr;
    }
    return page.blocks[offset].site == kNoSite ? nullptr : &page.blocks[offset];
  }

  template <typename Visit>
  static void visit_page(uint64_t page_number, const Page& page, Visit& visit) {
    for_each_place(page, [&](uint32_t offset, uint32_t place) {
      if (page.blocks[place].site != kNoSite) visit(page_number * kPageBlocks + offset + 1, page.blocks[place]);
    });
  }

  // Calls visit(offset, index into `blocks`) for all that the page has room for, in ascending order.
  template <typename Visit>
  static void for_each_place(const Page& page, Visit visit) {
    if (page.index == nullptr) {
      for (uint32_t offset = 0; offset < page.filled; ++offset) visit(offset, offset);
      return;
    }
    uint32_t place = 0;
    for (uint32_t word = 0; word < page.index->words.size(); ++word) {
      for (uint64_t bits = page.index->words[word].offsets; bits != 0; bits &= bits - 1) {
        visit(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)), place++);
      }
    }
  }

  void open(uint64_t page_number);
  Blocks new_page();
  void close_open_page();
  void retire(size_t pages);
  void shrink(uint64_t page_number, Page& page);
  void make_sparse(Page& page, uint32_t extra_offset, const Block* extra);
  void give_back(Page& page);

  std::vector<Slab> slabs_;  // first: pages are in them
  std::vector<Page> recent_;
  uint64_t first_page_ = 0;  // page number of recent_[0]
  uint64_t open_page_ = kNoPage;
  boost::unordered_flat_map<uint64_t, Page> old_;
  std::vector<Blocks> spare_;  // dense pages for reuse
  size_t dense_pages_ = 0;     // in use and spare, before slabs
  uint64_t live_blocks_ = 0;
  uint64_t used_pages_ = 0;  // with blocks
};

}  // namespace heaptap::ledger
