// View of a BlockTable's dense pages for an event loop without calls: the frequent cases; the table itself does the rest. Valid
// until the table changes otherwise. Only for tables without details.
#pragma once
#include <cstdint>

#include "analysis/ledger/block_table.h"

namespace heaptap::ledger {

class DenseBlocks {
 public:
  explicit DenseBlocks(BlockTable& table)
      : pages_(table.recent_.data()),
        page_count_(table.recent_.size()),
        first_page_(table.first_page_),
        open_page_(table.open_page_) {}

  // False: call the table instead.
  bool insert(model::BlockNumber number, model::SiteId site, uint64_t size_bytes) {
    if (BlockTable::page_of(number) != open_page_ || size_bytes >= BlockSlot::kLarge) [[unlikely]] {
      return false;
    }
    BlockPage& open = pages_[page_count_ - 1];
    open.dense[BlockTable::offset_of(number)] = {site, static_cast<uint32_t>(size_bytes)};
    ++open.live;
    return true;
  }

  struct Place {
    BlockPage* page;
    BlockSlot* slot;  // without a site: ask the table

    // Removes the block. True: call BlockTable::shrink_page_of.
    [[nodiscard]] bool take() const {
      slot->site = kNoSite;
      return --page->live == page->shrink_at;
    }
  };
  Place find(model::BlockNumber number) {
    const uint64_t index = BlockTable::page_of(number) - first_page_;
    if (index >= page_count_) [[unlikely]] {
      return {nullptr, BlockPage::kNoSlots};
    }
    return {&pages_[index], &pages_[index].dense[BlockTable::offset_of(number)]};
  }

 private:
  BlockPage* pages_;
  uint64_t page_count_;
  uint64_t first_page_;
  uint64_t open_page_;
};

}  // namespace heaptap::ledger
