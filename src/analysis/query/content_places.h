// Places of distinct contents in a table that its user keeps: found by a hash of the content, and compared where the user has it. No copy of
// a content is made as a key. Private to analysis/.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/query/keyed_hash.h"

namespace heaptap::query {

class ContentPlaces {
 public:
  // The place of this content: that of an equal one, or size() for a new one, which has its place from now on. `is_at(place)`: whether the
  // content there is equal; asked about contents with the same hash.
  template <typename IsAt>
  uint32_t place_of(const FieldsHash& hash, const IsAt& is_at) {
    const auto [first, is_new] = first_.try_emplace(hash.value(), next());
    if (is_new) return append();
    for (uint32_t place = first->second;; place = more_[place]) {
      if (is_at(place)) return place;
      if (more_[place] != kNone) continue;
      more_[place] = next();
      return append();
    }
  }
  [[nodiscard]] size_t size() const { return more_.size(); }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  [[nodiscard]] uint32_t next() const { return static_cast<uint32_t>(more_.size()); }
  uint32_t append() {
    more_.push_back(kNone);
    return next() - 1;
  }

  boost::unordered_flat_map<uint64_t, uint32_t> first_;  // by hash
  std::vector<uint32_t> more_;                           // by place: another one with the same hash
};

}  // namespace heaptap::query
