// Weights of recorded blocks where blocks are sampled (common/wire/sampling.h).
#pragma once
#include <cmath>
#include <cstdint>

#include "common/model/event.h"
#include "common/wire/sampling.h"

namespace heaptap::model {

// Number of blocks that a recorded one stands for. One of `size` bytes is recorded with the probability p = 1 - e^(-size/interval), so it stands for 1/p blocks of
// its size: sums over recorded blocks are then right on average. Counts are whole numbers: 1/p is rounded up or down at random, so that
// it is right on average, too, and by the block's number, so that all readers count the same.
class SampleWeights {
 public:
  // `interval` in bytes; 0: all blocks are recorded.
  explicit SampleWeights(uint64_t interval) : interval_(interval) {}

  [[nodiscard]] bool is_sampled() const { return interval_ != 0; }
  [[nodiscard]] uint64_t interval() const { return interval_; }

  // Number of blocks, itself included, that a recorded one stands for.
  [[nodiscard]] uint64_t blocks_of(uint64_t size_bytes, BlockNumber number) const {
    if (interval_ == 0) [[likely]]
      return 1;
    const double weight = weight_of(size_bytes);
    const double whole = std::floor(weight);
    return static_cast<uint64_t>(whole) + (fraction_of(number) < weight - whole ? 1 : 0);
  }

  [[nodiscard]] double weight_of(uint64_t size_bytes) const {
    if (interval_ == 0 || wire::is_surely_sampled(size_bytes, interval_)) return 1;
    return -1 / std::expm1(-static_cast<double>(wire::sampled_bytes(size_bytes)) / static_cast<double>(interval_));
  }

 private:
  // From 0 to 1, without order in the numbers.
  static double fraction_of(BlockNumber number) {
    uint64_t mixed = number * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93u;
    mixed ^= mixed >> 32;
    return static_cast<double>(mixed >> 11) * 0x1p-53;
  }

  uint64_t interval_;
};

}  // namespace heaptap::model
