#include "analysis/ledger/size_tally.h"

#include <algorithm>

namespace heaptap::ledger {

void SizeTally::large_allocated(uint64_t size, uint64_t blocks) {
  SizeClassCount& size_class = large_classes_[static_cast<size_t>(std::bit_width(size))];
  size_class.allocations += blocks;
  size_class.allocated_bytes += size * blocks;
  size_class.live_blocks += blocks;
  size_class.live_bytes += size * blocks;
  auto found = large_.find(size);
  if (found == large_.end()) {
    if (large_.size() >= kDistinctLarge) {
      uncounted_allocations_ += blocks;
      return;
    }
    found = large_.emplace(size, SizeCount{}).first;
  }
  found->second.allocations += blocks;
  found->second.live_blocks += blocks;
}

void SizeTally::large_released(uint64_t size, uint64_t blocks) {
  SizeClassCount& size_class = large_classes_[static_cast<size_t>(std::bit_width(size))];
  size_class.live_blocks -= blocks;
  size_class.live_bytes -= size * blocks;
  if (const auto found = large_.find(size); found != large_.end()) {
    found->second.live_blocks -= blocks;
  }
}

void SizeTally::restored(uint64_t size, uint64_t blocks) {
  if (size < kSmallSizes) {
    small_[size].live_blocks += blocks;
    return;
  }
  SizeClassCount& size_class = large_classes_[static_cast<size_t>(std::bit_width(size))];
  size_class.live_blocks += blocks;
  size_class.live_bytes += size * blocks;
  if (const auto found = large_.find(size); found != large_.end()) {
    found->second.live_blocks += blocks;
  }
}

void SizeTally::add_live(uint64_t size, uint64_t blocks) {
  if (size < kSmallSizes) {
    small_[size].live_blocks += blocks;
    return;
  }
  SizeClassCount& size_class = large_classes_[static_cast<size_t>(std::bit_width(size))];
  size_class.live_blocks += blocks;
  size_class.live_bytes += size * blocks;
  if (large_.size() < kDistinctLarge || large_.contains(size)) large_[size].live_blocks += blocks;
}

std::vector<SizeTally::Exact> SizeTally::exact() const {
  std::vector<Exact> sizes;
  for (uint64_t size = 0; size < kSmallSizes; ++size) {
    if (small_[size].allocations > 0 || small_[size].live_blocks > 0) {
      sizes.push_back({size, small_[size]});
    }
  }
  const auto first_large = static_cast<std::ptrdiff_t>(sizes.size());
  for (const auto& [size, count] : large_) {
    sizes.push_back({size, count});
  }
  std::sort(sizes.begin() + first_large, sizes.end(),
            [](const Exact& a, const Exact& b) { return a.size_bytes < b.size_bytes; });
  return sizes;
}

std::vector<SizeClassCount> SizeTally::classes() const {
  std::array<SizeClassCount, 65> classes = large_classes_;
  for (uint64_t size = 0; size < kSmallSizes; ++size) {
    SizeClassCount& size_class = classes[static_cast<size_t>(std::bit_width(size))];
    size_class.allocations += small_[size].allocations;
    size_class.allocated_bytes += small_[size].allocations * size;
    size_class.live_blocks += small_[size].live_blocks;
    size_class.live_bytes += small_[size].live_blocks * size;
  }
  std::vector<SizeClassCount> used;
  size_t last = 0;
  for (size_t width = 0; width < classes.size(); ++width) {
    classes[width].lowest = width == 0 ? 0 : uint64_t{1} << (width - 1);
    classes[width].highest = width == 0 ? 0 : classes[width].lowest + (classes[width].lowest - 1);
    if (classes[width].allocations > 0 || classes[width].live_blocks > 0) {
      last = width + 1;
    }
  }
  for (size_t width = 0; width < last; ++width) {
    if (!used.empty() || classes[width].allocations > 0 || classes[width].live_blocks > 0) {
      used.push_back(classes[width]);
    }
  }
  return used;
}

}  // namespace heaptap::ledger
