// Mapping of a function's lines between two builds with changed source.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace heaptap::query {

// Call site, and the allocations through it.
struct CallPlace {
  uint64_t line = 0;  // or the offset in the binary if lines are unknown
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
};

// For each of `before` its index in `after`; empty: none. Both ascending by line, each line once, and calls from one function to one
// callee. Lines keep their order, and each of the shorter list has a partner: preferably with the same figures, then so that
// neighbours move by the same distance, then the nearest.
std::vector<std::optional<size_t>> map_lines(const std::vector<CallPlace>& before, const std::vector<CallPlace>& after);

}  // namespace heaptap::query
