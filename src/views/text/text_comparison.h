// Comparison as text.
#pragma once
#include <cstddef>
#include <string>

#include "analysis/report/comparison.h"

namespace heaptap::text {

struct ComparisonOptions {
  bool color = false;
  size_t limit = 10;  // stacks; 0: all
  size_t depth = 8;   // frames per stack; 0: all
};
std::string render_comparison(const report::Comparison& comparison, const ComparisonOptions& options);

}  // namespace heaptap::text
