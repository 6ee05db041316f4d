// Pairs stacks of two builds whose functions are not all the same: one was inlined without a trace, a wrapper came between.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace heaptap::analysis {

struct SimilarFrame {
  uint32_t function = 0;  // 0: no name
  bool own = false;       // of code that differs between the builds
  bool has_line = false;
  // The place as both builds have it; empty: only the function can be compared.
  std::optional<std::pair<uint64_t, uint64_t>> place = {};
};

struct SimilarStack {
  size_t index = 0;
  uint32_t called = 0;  // the function that allocates
  std::vector<SimilarFrame> frames;
  uint64_t weight = 0;  // of very many the heaviest are compared
};

// Pairs of indices, each stack in one at most. Two are candidates if they call the same function from the same function of their
// own code; the longest common path of callers decides. If one is a part of the other, half of the longer one has to be in it; else two thirds.
std::vector<std::pair<size_t, size_t>> pair_similar(const std::vector<SimilarStack>& before,
                                                    const std::vector<SimilarStack>& after);

}  // namespace heaptap::analysis
