// Histogram of the lifetimes of released blocks, in classes 1-2-5 per decade. Lifetimes below the trace's time resolution are one
// class.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptap::ledger {

struct LifetimeCount {  // lifetimes from lowest_ns to below limit_ns (0: no limit)
  uint64_t lowest_ns = 0;
  uint64_t limit_ns = 0;
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};

class LifetimeHistogram {
 public:
  explicit LifetimeHistogram(uint64_t resolution_ns);

  void add(uint64_t lifetime_ns, uint64_t blocks, uint64_t bytes) {
    LifetimeCount& count = counts_[class_of(lifetime_ns)];
    count.blocks += blocks;
    count.bytes += bytes;
  }
  void remove(uint64_t lifetime_ns, uint64_t blocks, uint64_t bytes) {
    LifetimeCount& count = counts_[class_of(lifetime_ns)];
    count.blocks -= blocks;
    count.bytes -= bytes;
  }

  // All classes up to the last one with blocks.
  [[nodiscard]] std::vector<LifetimeCount> classes() const;

 private:
  [[nodiscard]] size_t class_of(uint64_t lifetime_ns) const {
    size_t index = first_of_width_[static_cast<size_t>(std::bit_width(lifetime_ns))];
    while (index + 1 < counts_.size() && lifetime_ns >= counts_[index + 1].lowest_ns) {
      ++index;
    }
    return index;
  }

  std::vector<LifetimeCount> counts_;
  std::array<uint8_t, 65> first_of_width_{};  // by bit width: class of the shortest such lifetime
};

}  // namespace heaptap::ledger
