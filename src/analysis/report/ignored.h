// Stacks ignored by the user's rules: counted, not listed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heaptap::report {

struct IgnoredCount {
  uint64_t stacks = 0;  // those with mappings only included, which `mapped_live_bytes` counts
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;
  uint64_t mapped_live_bytes = 0;

  IgnoredCount& operator+=(const IgnoredCount& other) {
    stacks += other.stacks;
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    live_blocks += other.live_blocks;
    live_bytes += other.live_bytes;
    mapped_live_bytes += other.mapped_live_bytes;
    return *this;
  }
};

struct IgnoreRule {
  std::string place;  // "heaptap.conf:3", "--ignore"
  std::string text;   // the expression
  IgnoredCount count;
};

// A stack counts under the first rule that matches it. For ignored leaks see Leaks::ignored.
struct Ignored {
  std::vector<IgnoreRule> rules;  // also rules without a match; empty: nothing is ignored

  [[nodiscard]] IgnoredCount sum() const {
    IgnoredCount sum;
    for (const IgnoreRule& rule : rules) sum += rule.count;
    return sum;
  }
};

}  // namespace heaptap::report
