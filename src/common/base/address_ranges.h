// Lists of address ranges of a target, which ascend.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "common/base/address_range.h"

namespace heaptap::base {

// The one of these that contains the address; null: none does.
inline const AddressRange* range_at(std::span<const AddressRange> ascending, uint64_t address) {
  const auto behind = std::ranges::upper_bound(ascending, address, {}, &AddressRange::begin);
  return behind != ascending.begin() && std::prev(behind)->contains(address) ? &*std::prev(behind) : nullptr;
}

inline bool lies_in(uint64_t address, std::span<const AddressRange> ascending) {
  return range_at(ascending, address) != nullptr;
}

// Appends one that isn't below the last; it becomes a part of that one, if it begins where that ends.
inline void append_joined(AddressRange part, std::vector<AddressRange>& ascending) {
  if (!ascending.empty() && ascending.back().end == part.begin) {
    ascending.back().end = part.end;
  } else {
    ascending.push_back(part);
  }
}

}  // namespace heaptap::base
