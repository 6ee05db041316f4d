// Folding of a report file's stacks: the file stays small for a trace of any size, since smaller stacks are merged into rows that
// stand for several.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::html {

// Call tree of the stacks: one node per frame, below its caller's.
struct CallNodes {
  static constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<uint32_t> parents;  // kNone: an outermost frame. Parents precede their children
  std::vector<report::FrameIndex> frames;
};

struct Row {
  uint32_t stack = 0;  // index into Report::stacks; of a folded row its largest stack
  uint32_t node =
      CallNodes::kNone;  // its innermost frame; of a folded row the last one that they share with a kept stack
  uint64_t folded = 0;   // number of stacks in the row; 0: not folded
};

struct Rows {
  CallNodes nodes;
  std::vector<Row> rows;
  std::vector<uint32_t> of_stack;  // by index into Report::stacks: its row
  uint64_t folded_stacks = 0;
  uint64_t folded_bytes = 0;  // allocated by these
};

// Weights of stacks that override the report's figures.
struct Weights {
  std::vector<double> shares;  // by index into Report::stacks
  std::vector<uint8_t> kinds;  // only stacks of one kind are folded together
};

// At most `limit` stacks keep rows of their own: those with the largest share of any figure, or the largest weights.
Rows choose_rows(const report::Report& report, size_t limit, const Weights* weights = nullptr);

}  // namespace heaptap::html
