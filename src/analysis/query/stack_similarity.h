// Pairing of similar stacks of two builds: for functions inlined in one of them, or wrappers added.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace heaptap::query {

struct SimilarFrame {
  uint32_t function = 0;  // 0: no name
  bool own = false;       // in code that differs between the builds, and neither allocation machinery nor startup code
  bool has_line = false;
  // Place in terms common to both builds; empty: only the function is comparable.
  std::optional<std::pair<uint64_t, uint64_t>> place = {};
};

struct SimilarStack {
  size_t index = 0;
  uint32_t called = 0;  // the allocation function
  std::vector<SimilarFrame> frames;
  uint64_t weight = 0;  // of too many only the heaviest are compared
};

// Pairs of indexes, each stack in at most one. Candidates call the same function from the same function of their own code; the longest
// common subsequence of callers decides. It must cover half of the longer stack if one stack contains the other; else two thirds.
std::vector<std::pair<size_t, size_t>> pair_similar(const std::vector<SimilarStack>& before,
                                                    const std::vector<SimilarStack>& after);

}  // namespace heaptap::query
