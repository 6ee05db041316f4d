// Pages with blocks, each divided among the groups of its blocks (their stacks, or sites). Private to query/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/base/address_range.h"

namespace heaptap::query {

struct PageShare {
  uint32_t group;
  uint64_t bytes;  // of the group's blocks in the page
  uint64_t rest_bytes =
      0;  // of what no block uses: divided by bytes, equally among blocks of none. Shares add up to all of it
};

struct DividedPage {
  uint64_t address;
  uint64_t used_bytes;
  uint64_t parts;                     // of blocks
  std::span<const PageShare> shares;  // by the groups' first addresses in it
};

class PageDivision {
 public:
  using Take = std::function<void(const DividedPage&)>;

  // `group_count`: groups are below it. `take` gets the pages by address, once each.
  PageDivision(uint64_t page_bytes, size_t group_count, Take take)
      : page_bytes_(page_bytes), take_(std::move(take)), places_(group_count) {}

  struct Touched {
    uint64_t pages = 0;       // that no part before touched
    uint64_t full_pages = 0;  // of these, those between the part's ends, which it fills: take() doesn't get them
  };
  // A block's part. Parts ascend and don't overlap; a block of no bytes has a part of none.
  Touched add(base::AddressRange part, uint32_t group);
  // After the last part.
  void finish();

 private:
  bool add_to_page(base::AddressRange part, uint32_t group);

  uint64_t page_bytes_;
  Take take_;
  bool is_any_ = false;
  uint64_t page_ = 0;  // number
  uint64_t used_bytes_ = 0;
  uint64_t parts_ = 0;
  std::vector<PageShare> shares_;  // of the page
  std::vector<uint32_t> places_;   // by group: index of its share + 1; 0: none
};

}  // namespace heaptap::query
