// Which line of a function in one build is which one in another build of changed source.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace heaptap::analysis {

// A place that calls something, and what was allocated through it.
struct CallPlace {
  uint64_t line = 0;  // or the offset in the file of code, where lines aren't known
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
};

// For each of `before` its place in `after`; empty: it has none. Both by line, ascending, each line once, and calls of the same
// function from the same one. Lines keep their order, and all of the shorter list have a partner: those with the same figures
// first, then such that neighbours move by the same distance, then the nearest.
std::vector<std::optional<size_t>> map_lines(const std::vector<CallPlace>& before, const std::vector<CallPlace>& after);

}  // namespace heaptap::analysis
