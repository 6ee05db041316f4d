// Live blocks by number. Numbers come in ascending order and a release names its allocation's number, so this is an array of
// pages, not a hash table:
//
//   recent_   [page][page][ ][page]…[open page]     a page for each run of kPageBlocks numbers, directly indexed
//   old_      page number -> page                   pages with survivors from before the first of recent_
//
// A page is dense while many of its blocks live, an exactly sized sorted array with an index when few are left, and freed with its
// last block. So memory follows the live blocks, not the number of events.
#pragma once
#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/ledger/block.h"
#include "analysis/ledger/block_page.h"

namespace heaptap::ledger {

class BlockTable {
 public:
  static constexpr uint32_t kSparseBlocks = kPageBlocks / 32;  // a page with this many blocks left, or fewer, is sparse

  // Without details only a block's size and site are kept, all else reads as 0: this is faster.
  explicit BlockTable(bool with_details) : with_details_(with_details) {}

  // `number` is larger than all before it, and not 0. Gaps are allowed.
  void insert(model::BlockNumber number, const Block& block) {
    const uint64_t page_number = page_of(number);
    if (page_number != open_page_) [[unlikely]] {
      open(page_number);
    }
    BlockPage& page = recent_.back();
    put(*page.arrays, offset_of(number), number, block);
    ++page.live;
  }

  // Removes a block after visit(block). False if it isn't live.
  template <typename Visit>
  bool take(model::BlockNumber number, Visit visit) {
    BlockPage* page = find_page(page_of(number));
    const uint32_t place = page == nullptr ? BlockPage::kNoPlace : page->find(offset_of(number));
    if (place == BlockPage::kNoPlace) [[unlikely]] {
      return false;
    }
    visit(block_at(*page->arrays, place, number));
    BlockSlot& slot = page->arrays->slots[place];
    if (slot.size_bytes == BlockSlot::kLarge) [[unlikely]] {
      large_sizes_.erase(number);
    }
    slot.site = kNoSite;
    if (--page->live == page->shrink_at) [[unlikely]] {
      shrink(page_of(number), *page);
    }
    return true;
  }

  // Whether the block is live.
  [[nodiscard]] bool contains(model::BlockNumber number) const {
    const BlockPage* page = find_page(page_of(number));
    return page != nullptr && page->find(offset_of(number)) != BlockPage::kNoPlace;
  }

  // Prefetches the entry of a block that may be taken soon. Any number is valid; no branch depends on it.
  void prefetch(model::BlockNumber number) const {
    const uint64_t index = page_of(number) - first_page_;
    if (index < recent_.size()) __builtin_prefetch(&recent_[index].dense[offset_of(number)], 1);
  }

  // Shrinks a page when DenseBlocks has taken blocks of it down to its limit.
  void shrink_page_of(model::BlockNumber number) { shrink(page_of(number), *find_page(page_of(number))); }

  // Undoes take().
  void restore(model::BlockNumber number, const Block& block);

  [[nodiscard]] uint64_t live_blocks() const;

  // Bytes allocated by the table, page directory included.
  [[nodiscard]] uint64_t memory_bytes() const;

  // Calls visit(number, block) in ascending order of numbers.
  template <typename Visit>
  void for_each(Visit visit) const {
    for_each_page([&](uint64_t page_number, const BlockPage& page) {
      page.for_each_place([&](uint32_t offset, uint32_t place) {
        const model::BlockNumber number = page_number * kPageBlocks + offset + 1;
        visit(number, block_at(*page.arrays, place, number));
      });
    });
  }

 private:
  friend class DenseBlocks;
  static constexpr uint64_t kNoPage = ~uint64_t{0};
  static constexpr size_t kLeastDirectory = 1024;
  static constexpr size_t kPagesBeforeSlabs = 32;

  static uint64_t page_of(model::BlockNumber number) { return (number - 1) / kPageBlocks; }
  static uint32_t offset_of(model::BlockNumber number) { return static_cast<uint32_t>((number - 1) % kPageBlocks); }

  void put(BlockArrays& arrays, uint32_t place, model::BlockNumber number, const Block& block) {
    const bool is_large = block.size_bytes >= BlockSlot::kLarge;
    arrays.slots[place] = {block.site, is_large ? BlockSlot::kLarge : static_cast<uint32_t>(block.size_bytes)};
    if (is_large) [[unlikely]] {
      large_sizes_[number] = block.size_bytes;
    }
    if (arrays.details != nullptr) arrays.details[place] = {block.allocated_at_ns, block.address, block.thread};
  }

  [[nodiscard]] Block block_at(const BlockArrays& arrays, uint32_t place, model::BlockNumber number) const {
    const BlockSlot& slot = arrays.slots[place];
    Block block{.size_bytes = slot.size_bytes, .site = slot.site};
    if (slot.size_bytes == BlockSlot::kLarge) [[unlikely]] {
      block.size_bytes = large_sizes_.at(number);
    }
    if (arrays.details != nullptr) {
      const BlockDetail& detail = arrays.details[place];
      block.allocated_at_ns = detail.allocated_at_ns;
      block.address = detail.address;
      block.thread = detail.thread;
    }
    return block;
  }

  BlockPage* find_page(uint64_t page_number) {
    return const_cast<BlockPage*>(std::as_const(*this).find_page(page_number));
  }
  [[nodiscard]] const BlockPage* find_page(uint64_t page_number) const {
    const uint64_t index = page_number - first_page_;
    if (index < recent_.size()) [[likely]] {
      return &recent_[index];
    }
    const auto found = old_.find(page_number);
    return found == old_.end() ? nullptr : &found->second;
  }

  template <typename Visit>
  void for_each_page(Visit visit) const {
    std::vector<uint64_t> old_pages;
    for (const auto& [page_number, page] : old_) {
      old_pages.push_back(page_number);
    }
    std::sort(old_pages.begin(), old_pages.end());
    for (const uint64_t page_number : old_pages) {
      visit(page_number, old_.find(page_number)->second);
    }
    for (size_t index = 0; index < recent_.size(); ++index) {
      visit(first_page_ + index, recent_[index]);
    }
  }

  void open(uint64_t page_number);
  std::unique_ptr<BlockArrays> new_arrays();
  void close_open_page();
  void retire(size_t pages);
  void shrink(uint64_t page_number, BlockPage& page);
  void make_sparse(BlockPage& page, model::BlockNumber extra_number, const Block* extra);
  void give_back(BlockPage& page);

  bool with_details_;
  std::vector<BlockSlab> slabs_;  // first member: pages are in them
  std::vector<BlockPage> recent_;
  uint64_t first_page_ = 0;  // page number of recent_[0]
  uint64_t open_page_ = kNoPage;
  boost::unordered_flat_map<uint64_t, BlockPage> old_;
  boost::unordered_flat_map<model::BlockNumber, uint64_t> large_sizes_;  // of BlockSlot::kLarge
  std::vector<std::unique_ptr<BlockArrays>> spare_;                      // of dense pages, for reuse
  size_t dense_pages_ = 0;                                               // in use and spare, before slabs
  uint64_t used_pages_ = 0;                                              // with blocks
};

}  // namespace heaptap::ledger
