#include "analysis/ledger/block_table.h"

#include <array>
#include <utility>

namespace heaptap::ledger {
namespace {

constexpr std::array<BlockSlot, kPageBlocks> kEmptySlots{};

}  // namespace

BlockSlot* const BlockPage::kNoSlots = const_cast<BlockSlot*>(kEmptySlots.data());

void BlockTable::open(uint64_t page_number) {
  close_open_page();
  const size_t limit = std::max<size_t>(kLeastDirectory, 2 * used_pages_);
  if (page_number - first_page_ >= limit) {
    const bool far_ahead = page_number - first_page_ - recent_.size() >= limit / 2;
    retire(far_ahead ? recent_.size() : recent_.size() / 2);
    if (recent_.empty()) {
      first_page_ = page_number;
    }
  }
  recent_.resize(page_number - first_page_ + 1);
  BlockPage& page = recent_.back() = BlockPage{};
  page.arrays = new_arrays();
  page.dense = page.arrays->slots.get();
  std::fill_n(page.dense, kPageBlocks, BlockSlot{});
  ++used_pages_;
  open_page_ = page_number;
}

std::unique_ptr<BlockArrays> BlockTable::new_arrays() {
  if (!spare_.empty()) {
    auto arrays = std::move(spare_.back());
    spare_.pop_back();
    return arrays;
  }
  auto arrays = std::make_unique<BlockArrays>();
  arrays->entries = kPageBlocks;
  if (with_details_) arrays->details = std::make_unique_for_overwrite<BlockDetail[]>(kPageBlocks);
  if (dense_pages_ < kPagesBeforeSlabs) {
    ++dense_pages_;
    arrays->slots = {new BlockSlot[kPageBlocks], ReleaseSlots(false)};
    return arrays;
  }
  if (slabs_.empty() || slabs_.back().used == BlockSlab::kSlots) slabs_.emplace_back();
  BlockSlab& slab = slabs_.back();
  slab.used += kPageBlocks;
  arrays->slots = {slab.slots + slab.used - kPageBlocks, ReleaseSlots(true)};
  return arrays;
}

void BlockTable::close_open_page() {
  if (open_page_ == kNoPage) {
    return;
  }
  BlockPage& page = recent_.back();
  page.shrink_at = kSparseBlocks;
  if (page.live <= kSparseBlocks) {
    shrink(open_page_, page);
  }
}

// Moves the first `pages` out of the directory; those in use can still be found by number.
void BlockTable::retire(size_t pages) {
  for (size_t index = 0; index < pages; ++index) {
    if (recent_[index].arrays != nullptr) {
      old_.emplace(first_page_ + index, std::move(recent_[index]));
    }
  }
  recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(pages));
  first_page_ += pages;
}

void BlockTable::shrink(uint64_t page_number, BlockPage& page) {
  if (page.live > 0) {
    make_sparse(page, 0, nullptr);
    return;
  }
  give_back(page);
  page = BlockPage{};
  --used_pages_;
  if (page_number < first_page_) {
    old_.erase(page_number);
  }
}

// Copies the live blocks of a page, and `extra` at its place if there is one, into arrays of exactly their number.
void BlockTable::make_sparse(BlockPage& page, model::BlockNumber extra_number, const Block* extra) {
  const uint32_t live = page.live + (extra == nullptr ? 0 : 1);
  auto arrays = std::make_unique<BlockArrays>();
  arrays->slots = {new BlockSlot[live], ReleaseSlots(false)};
  if (with_details_) arrays->details = std::make_unique<BlockDetail[]>(live);
  arrays->index = std::make_unique<SparseIndex>();
  const auto add = [&](uint32_t offset) {
    arrays->index->words[offset / 64].offsets |= uint64_t{1} << offset % 64;
    return arrays->entries++;
  };
  const auto add_extra = [&] {
    put(*arrays, add(offset_of(extra_number)), extra_number, *std::exchange(extra, nullptr));
  };
  page.for_each_place([&](uint32_t offset, uint32_t place) {
    if (extra != nullptr && offset_of(extra_number) < offset) add_extra();
    const uint32_t to = add(offset);
    arrays->slots[to] = page.arrays->slots[place];
    if (with_details_) arrays->details[to] = page.arrays->details[place];
  });
  if (extra != nullptr) {
    add_extra();
  }
  arrays->index->count();
  give_back(page);
  page = BlockPage{.live = live, .shrink_at = live / 2, .arrays = std::move(arrays)};
}

void BlockTable::give_back(BlockPage& page) {
  if (page.is_dense()) {
    spare_.push_back(std::move(page.arrays));
  }
}

void BlockTable::restore(model::BlockNumber number, const Block& block) {
  const uint64_t page_number = page_of(number);
  BlockPage* page = find_page(page_number);
  if (page == nullptr) {
    page = &old_[page_number];
  }
  if (page->is_dense()) {
    put(*page->arrays, offset_of(number), number, block);
    ++page->live;
    return;
  }
  if (page->arrays == nullptr) {
    ++used_pages_;
  }
  make_sparse(*page, number, &block);
}

uint64_t BlockTable::live_blocks() const {
  uint64_t blocks = 0;
  for_each_page([&](uint64_t, const BlockPage& page) { blocks += page.live; });
  return blocks;
}

uint64_t BlockTable::memory_bytes() const {
  const uint64_t entry_bytes = sizeof(BlockSlot) + (with_details_ ? sizeof(BlockDetail) : 0);
  const auto bytes_of = [entry_bytes](const BlockArrays& arrays) {
    return sizeof(arrays) + arrays.entries * entry_bytes + (arrays.index == nullptr ? 0 : sizeof(SparseIndex));
  };
  uint64_t bytes =
      recent_.capacity() * sizeof(BlockPage) + old_.bucket_count() * (sizeof(BlockPage) + sizeof(uint64_t));
  bytes += large_sizes_.bucket_count() * (sizeof(uint64_t) + sizeof(model::BlockNumber));
  for (const auto& arrays : spare_) bytes += bytes_of(*arrays);
  for_each_page([&](uint64_t, const BlockPage& page) { bytes += page.arrays == nullptr ? 0 : bytes_of(*page.arrays); });
  return bytes;
}

}  // namespace heaptap::ledger
