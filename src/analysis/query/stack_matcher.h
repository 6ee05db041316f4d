// Matching of stacks between two recordings (docs/decisions/0055-matching-stacks.md).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/query/frame_pool.h"

namespace heaptap::query {

// Stack of one side, or several known to be equal.
struct MatchedStack {
  std::string function;  // the allocation function with its variant
  bool mapping = false;
  report::FramePath frames;  // of the pool
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
};

struct MatchingSide {
  std::vector<MatchedStack> stacks;
  Binaries binaries;  // of its process
};

// Matching stacks of both sides; one or more of each, as indexes into its list.
struct StackMatch {
  std::vector<size_t> before;
  std::vector<size_t> after;
  bool moved = false;  // lines, or functions in between, differ
};

struct Matching {
  std::vector<StackMatch> matches;  // stacks in none exist on one side only
  // File names of modules that differ between the sides and have no function names: their stacks match nothing.
  std::vector<std::string> unnamed_modules;
};

Matching match_stacks(FramePool& pool, const MatchingSide& before, const MatchingSide& after);

}  // namespace heaptap::query
