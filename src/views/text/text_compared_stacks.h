// Stacks of a comparison as text: a line each, or each with its frames and all figures that changed.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/findings/compared_rows.h"
#include "analysis/report/comparison.h"
#include "views/text/text_comparison.h"
#include "views/text/text_table.h"

namespace heaptap::text {

// Indexes of the recordings that have a column: the first one and the last ones.
std::vector<size_t> shown_recordings(const report::Comparison& comparison);

struct ComparedText {
  std::string text;
  size_t left_out = 0;  // stacks beyond the limit
};
ComparedText compared_stacks_text(const report::Comparison& comparison, const findings::ComparedList& list,
                                  const ComparisonOptions& options, const Ink& ink);

}  // namespace heaptap::text
