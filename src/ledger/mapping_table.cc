#include "ledger/mapping_table.h"

#include <algorithm>

namespace heaptap::ledger {
namespace {

constexpr uint64_t kHighest = ~uint64_t{0};

uint64_t end_of(uint64_t address, uint64_t length_bytes) {
  return length_bytes > kHighest - address ? kHighest : address + length_bytes;
}

}  // namespace

uint64_t MappingTable::add(const Block& block) {
  const uint64_t end = end_of(block.address, block.size_bytes);
  ++last_number_;
  if (end > block.address) {
    ranges_[block.address] = {end, last_number_};
    mappings_[last_number_] = {block, end - block.address};
  }
  return last_number_;
}

const std::vector<UnmappedPart>& MappingTable::remove(uint64_t address, uint64_t length_bytes) {
  parts_.clear();
  uint64_t end = end_of(address, length_bytes);
  if (const uint64_t beyond = end % page_bytes_; beyond != 0) {
    end = end_of(end, page_bytes_ - beyond);
  }
  auto range = ranges_.upper_bound(address);
  if (range != ranges_.begin() && std::prev(range)->second.end > address) {
    --range;
  }
  while (range != ranges_.end() && range->first < end) {
    const auto [start, old] = *range;
    range = ranges_.erase(range);
    if (start < address) {
      ranges_[start] = {address, old.mapping};
    }
    if (old.end > end) {
      range = ranges_.insert_or_assign(end, Range{old.end, old.mapping}).first;
    }
    take_away(old.mapping, std::min(old.end, end) - std::max(start, address));
  }
  return parts_;
}

void MappingTable::take_away(uint64_t mapping, uint64_t bytes) {
  const auto found = mappings_.find(mapping);
  found->second.bytes_left -= bytes;
  const bool last = found->second.bytes_left == 0;
  parts_.push_back({mapping, found->second.block, bytes, last});
  if (last) {
    mappings_.erase(found);
  }
}

}  // namespace heaptap::ledger
