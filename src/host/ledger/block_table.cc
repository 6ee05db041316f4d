#include "host/ledger/block_table.h"

#include <utility>

namespace heaptap::ledger {

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
  Page& page = recent_.back();
  page.blocks = new_page();
  ++used_pages_;
  open_page_ = page_number;
}

BlockTable::Blocks BlockTable::new_page() {
  if (!spare_.empty()) {
    Blocks blocks = std::move(spare_.back());
    spare_.pop_back();
    return blocks;
  }
  if (dense_pages_ < kPagesBeforeSlabs) {
    ++dense_pages_;
    return Blocks(new Block[kPageBlocks]);
  }
  if (slabs_.empty() || slabs_.back().used == kSlabBlocks) slabs_.emplace_back();
  Slab& slab = slabs_.back();
  slab.used += kPageBlocks;
  return Blocks(slab.blocks + slab.used - kPageBlocks, Release(true));
}

void BlockTable::close_open_page() {
  if (open_page_ == kNoPage) {
    return;
  }
  Page& page = recent_.back();
  page.shrink_at = kSparseBlocks;
  if (page.live <= kSparseBlocks) {
    shrink(open_page_, page);
  }
}

// Moves the first `pages` of the directory out of it; those that are in use can still be found by number.
void BlockTable::retire(size_t pages) {
  for (size_t index = 0; index < pages; ++index) {
    if (recent_[index].blocks != nullptr) {
      old_.emplace(first_page_ + index, std::move(recent_[index]));
    }
  }
  recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(pages));
  first_page_ += pages;
}

void BlockTable::shrink(uint64_t page_number, Page& page) {
  if (page.live > 0) {
    make_sparse(page, kPageBlocks, nullptr);
    return;
  }
  give_back(page);
  page = Page{};
  --used_pages_;
  if (page_number < first_page_) {
    old_.erase(page_number);
  }
}

// Copies the live blocks of a page, and `extra` at its offset if there is one, into an array of exactly their number.
void BlockTable::make_sparse(Page& page, uint32_t extra_offset, const Block* extra) {
  const uint32_t live = page.live + (extra == nullptr ? 0 : 1);
  Blocks blocks(new Block[live]);
  auto index = std::make_unique<SparseIndex>();
  uint32_t count = 0;
  const auto append = [&](uint32_t offset, const Block& block) {
    index->words[offset / 64].offsets |= uint64_t{1} << offset % 64;
    blocks[count++] = block;
  };
  for_each_place(page, [&](uint32_t offset, uint32_t place) {
    if (page.blocks[place].site == kNoSite) return;
    if (extra != nullptr && extra_offset < offset) append(extra_offset, *std::exchange(extra, nullptr));
    append(offset, page.blocks[place]);
  });
  if (extra != nullptr) {
    append(extra_offset, *extra);
  }
  for (size_t word = 1; word < index->words.size(); ++word) {
    const SparseIndex::Word& last = index->words[word - 1];
    index->words[word].before = last.before + SparseIndex::count_bits(last.offsets);
  }
  give_back(page);
  page = Page{std::move(blocks), std::move(index), live, live, live / 2};
}

void BlockTable::give_back(Page& page) {
  if (page.blocks != nullptr && page.index == nullptr) {
    spare_.push_back(std::move(page.blocks));
  }
}

void BlockTable::restore(model::BlockNumber number, const Block& block) {
  const uint64_t page_number = page_of(number);
  const uint32_t offset = offset_of(number);
  Page* page = find_page(page_number);
  if (page == nullptr) {
    page = &old_[page_number];
  }
  ++live_blocks_;
  if (Block* first = page->blocks.get(); first != nullptr && page->index == nullptr && offset < page->filled) {
    first[offset] = block;
    ++page->live;
    return;
  }
  if (page->blocks == nullptr) {
    ++used_pages_;
  }
  make_sparse(*page, offset, &block);
}

uint64_t BlockTable::memory_bytes() const {
  uint64_t bytes = recent_.capacity() * sizeof(Page) + old_.bucket_count() * (sizeof(Page) + sizeof(uint64_t));
  bytes += spare_.size() * kPageBlocks * sizeof(Block);
  const auto add = [&](const Page& page) {
    const bool is_dense = page.index == nullptr && page.blocks != nullptr;
    bytes += (is_dense ? kPageBlocks : page.filled) * sizeof(Block) + (page.index == nullptr ? 0 : sizeof(SparseIndex));
  };
  for (const Page& page : recent_) add(page);
  for (const auto& [number, page] : old_) add(page);
  return bytes;
}

}  // namespace heaptap::ledger
