// Writes suppressions for leaks, for --gen-suppressions: in either syntax, so that the tool it comes from reads them too.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "analysis/suppressions.h"

namespace heaptap::analysis {

enum class SuppressionSyntax { kLsan, kValgrind };

struct LeakToSuppress {
  NamedStack stack;
  leaks::BlockState state = leaks::BlockState::kDefinite;
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};

// One for each leak, in order; what is the same is written once.
std::string write_suppressions(SuppressionSyntax syntax, std::span<const LeakToSuppress> leaks);

}  // namespace heaptap::analysis
