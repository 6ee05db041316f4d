#include "analysis/ledger/mapping_table.h"

#include <algorithm>

namespace heaptap::ledger {
namespace {

constexpr uint64_t kHighest = ~uint64_t{0};

uint64_t end_of(uint64_t address, uint64_t length_bytes) {
  return length_bytes > kHighest - address ? kHighest : address + length_bytes;
}

}  // namespace

uint64_t MappingTable::add(const Block& block, wire::MappedMemory memory) {
  const uint64_t end = end_of(block.address, block.size_bytes);
  ++last_number_;
  if (end > block.address) {
    ranges_[block.address] = {end, last_number_, memory};
    mappings_[last_number_] = {block, end - block.address};
  }
  return last_number_;
}

const std::vector<UnmappedPart>& MappingTable::remove(uint64_t address, uint64_t length_bytes) {
  parts_.clear();
  const uint64_t end = end_of_pages(address, length_bytes);
  if (end <= address) return parts_;
  split_at(end);
  for (auto range = split_at(address); range != ranges_.end() && range->first < end; range = ranges_.erase(range)) {
    take_away(range->second, range->second.end - range->first);
  }
  return parts_;
}

const std::vector<ProtectedPart>& MappingTable::protect(uint64_t address, uint64_t length_bytes,
                                                        wire::MappedAccess access) {
  protected_.clear();
  const uint64_t end = end_of_pages(address, length_bytes);
  if (end <= address) return protected_;
  split_at(end);
  const auto first = split_at(address);
  auto range = first;
  for (; range != ranges_.end() && range->first < end; ++range) {
    wire::MappedMemory& memory = range->second.memory;
    const wire::MappedMemory before = memory;
    memory.access = access;
    protected_.push_back({mappings_.at(range->second.mapping).block, range->second.end - range->first, before, memory});
  }
  join(first, range);
  return protected_;
}

uint64_t MappingTable::end_of_pages(uint64_t address, uint64_t length_bytes) const {
  const uint64_t end = end_of(address, length_bytes);
  const uint64_t beyond = end % page_bytes_;
  return beyond == 0 ? end : end_of(end, page_bytes_ - beyond);
}

MappingTable::Ranges::iterator MappingTable::split_at(uint64_t address) {
  auto next = ranges_.lower_bound(address);
  if (next == ranges_.begin()) return next;
  Range& before = std::prev(next)->second;
  if (before.end <= address) return next;
  next = ranges_.emplace_hint(next, address, before);
  before.end = address;
  return next;
}

// Merges neighbours of one mapping with the same access: programs change their access page by page.
void MappingTable::join(Ranges::iterator first, Ranges::iterator last) {
  if (first != ranges_.begin()) --first;
  if (first == ranges_.end()) return;
  if (last != ranges_.end()) ++last;
  for (auto next = std::next(first); next != last;) {
    Range& range = first->second;
    const bool is_one =
        range.end == next->first && range.mapping == next->second.mapping && range.memory == next->second.memory;
    if (!is_one) {
      first = next++;
      continue;
    }
    range.end = next->second.end;
    next = ranges_.erase(next);
  }
}

void MappingTable::take_away(const Range& range, uint64_t bytes) {
  const auto found = mappings_.find(range.mapping);
  found->second.bytes_left -= bytes;
  const bool last = found->second.bytes_left == 0;
  parts_.push_back({range.mapping, found->second.block, bytes, last, range.memory});
  if (last) {
    mappings_.erase(found);
  }
}

}  // namespace heaptap::ledger
