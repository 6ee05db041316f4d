// Which stacks of one recording are which of another one (docs/decisions/0055-matching-stacks.md).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/frame_pool.h"

namespace heaptap::analysis {

// A stack of one side, or several that are known to be one.
struct MatchedStack {
  std::string function;  // that was called, with its variant
  bool mapping = false;
  const std::vector<report::FrameIndex>* frames = nullptr;  // of the pool, innermost first
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
};

struct MatchingSide {
  std::vector<MatchedStack> stacks;
  Binaries binaries;  // of its process
};

// Stacks of both sides that are one; of each side one or more, as places in its list.
struct StackMatch {
  std::vector<size_t> before;
  std::vector<size_t> after;
  bool moved = false;  // lines, or functions between, differ
};

struct Matching {
  std::vector<StackMatch> matches;  // what is in none is in one of the sides alone
  // File names of modules that differ between the sides, and whose functions have no names: their stacks match nothing.
  std::vector<std::string> unnamed_modules;
};

Matching match_stacks(FramePool& pool, const MatchingSide& before, const MatchingSide& after);

}  // namespace heaptap::analysis
