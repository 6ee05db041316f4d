// Allocations and live blocks by size: for each distinct size up to a limit, and always by powers of two.
#pragma once
#include <array>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptap::ledger {

struct SizeCount {
  uint64_t allocations = 0;
  uint64_t live_blocks = 0;
};

struct SizeClassCount {  // sizes lowest..highest
  uint64_t lowest = 0;
  uint64_t highest = 0;
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;
};

class SizeTally {
 public:
  static constexpr uint64_t kSmallSizes = 2048;    // below it, a counter for each size
  static constexpr size_t kDistinctLarge = 65536;  // above it, at most this many sizes have one

  void allocated(uint64_t size, uint64_t blocks) {
    if (size < kSmallSizes) [[likely]] {
      small_[size].allocations += blocks;
      small_[size].live_blocks += blocks;
    } else {
      large_allocated(size, blocks);
    }
  }
  void released(uint64_t size, uint64_t blocks) {
    if (size < kSmallSizes) [[likely]] {
      small_[size].live_blocks -= blocks;
    } else {
      large_released(size, blocks);
    }
  }
  void restored(uint64_t size, uint64_t blocks);
  // Adds live blocks whose allocations weren't counted here.
  void add_live(uint64_t size, uint64_t blocks);

  struct Exact {
    uint64_t size_bytes;
    SizeCount count;
  };
  // Ascending by size. Sizes first seen after the table was full are missing; see uncounted_allocations().
  [[nodiscard]] std::vector<Exact> exact() const;
  [[nodiscard]] uint64_t uncounted_allocations() const { return uncounted_allocations_; }

  // The classes 0, 1, 2..3, 4..7, …, from the first to the last with allocations.
  [[nodiscard]] std::vector<SizeClassCount> classes() const;

 private:
  void large_allocated(uint64_t size, uint64_t blocks);
  void large_released(uint64_t size, uint64_t blocks);

  std::array<SizeCount, kSmallSizes> small_{};
  std::array<SizeClassCount, 65> large_classes_{};  // by bit width
  boost::unordered_flat_map<uint64_t, SizeCount> large_;
  uint64_t uncounted_allocations_ = 0;
};

}  // namespace heaptap::ledger
