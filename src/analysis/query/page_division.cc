#include "analysis/query/page_division.h"

#include <algorithm>

namespace heaptap::query {

using base::AddressRange;

PageDivision::Touched PageDivision::add(AddressRange part, uint32_t group) {
  // By sizes: the end of the last page is no address.
  const uint64_t first_bytes = std::min(part.size(), page_bytes_ - part.begin % page_bytes_);
  Touched touched{.pages = add_to_page({part.begin, part.begin + first_bytes}, group) ? uint64_t{1} : 0};
  const uint64_t rest_bytes = part.size() - first_bytes;
  if (rest_bytes == 0) return touched;
  const uint64_t last_bytes = (rest_bytes - 1) % page_bytes_ + 1;
  touched.full_pages = (rest_bytes - last_bytes) / page_bytes_;
  touched.pages += touched.full_pages + 1;
  add_to_page({part.end - last_bytes, part.end}, group);
  return touched;
}

// True: it is another page than the last one.
bool PageDivision::add_to_page(AddressRange part, uint32_t group) {
  const uint64_t page = part.begin / page_bytes_;
  const bool is_new = !is_any_ || page != page_;
  if (is_new) finish();
  is_any_ = true;
  page_ = page;
  used_bytes_ += part.size();
  ++parts_;
  if (places_[group] == 0) {
    shares_.push_back({group, 0});
    places_[group] = static_cast<uint32_t>(shares_.size());
  }
  shares_[places_[group] - 1].bytes += part.size();
  return is_new;
}

void PageDivision::finish() {
  if (shares_.empty()) return;
  const uint64_t rest = page_bytes_ - std::min(used_bytes_, page_bytes_);
  uint64_t given = 0;
  for (PageShare& share : shares_) {
    share.rest_bytes = used_bytes_ == 0 ? rest / shares_.size() : rest * share.bytes / used_bytes_;
    given += share.rest_bytes;
    places_[share.group] = 0;
  }
  shares_.front().rest_bytes += rest - given;
  take_({.address = page_ * page_bytes_, .used_bytes = used_bytes_, .parts = parts_, .shares = shares_});
  shares_.clear();
  used_bytes_ = 0;
  parts_ = 0;
}

}  // namespace heaptap::query
