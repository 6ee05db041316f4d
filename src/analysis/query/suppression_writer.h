// Generator of suppressions for leaks (--gen-suppressions), in either syntax, readable by the original tool too.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "analysis/query/suppressions.h"

namespace heaptap::query {

enum class SuppressionSyntax { kLsan, kValgrind };

struct LeakToSuppress {
  NamedStack stack;
  leaks::BlockState state = leaks::BlockState::kDefinite;
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};

// One for each leak, in order, without duplicates.
std::string write_suppressions(SuppressionSyntax syntax, std::span<const LeakToSuppress> leaks);

}  // namespace heaptap::query
