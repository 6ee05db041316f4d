// Comparison as text.
#pragma once
#include <cstddef>
#include <string>

#include "analysis/findings/frame_text.h"
#include "analysis/report/comparison.h"

namespace heaptap::text {

struct ComparisonOptions {
  bool color = false;
  size_t limit = 10;                       // rows; 0: all
  size_t depth = 0;                        // frames of a whole stack; 0: all
  size_t width = 80;                       // of the terminal, in columns
  bool unchanged = false;                  // list stacks without a change of the sort figure too
  findings::FrameTextOptions frames = {};  // full_stacks: each stack with its frames and all changed figures
};
std::string render_comparison(const report::Comparison& comparison, const ComparisonOptions& options);

}  // namespace heaptap::text
