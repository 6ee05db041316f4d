// Which stacks a report file has as rows of their own: it stays small for a trace of any size, where the smaller stacks become
// part of a row that stands for several.
#pragma once
#include <cstdint>
#include <vector>

#include "report/report.h"

namespace heaptap::html {

// The call tree of stacks: a node a frame, below that of its caller.
struct CallNodes {
  static constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<uint32_t> parents;  // kNone: an outermost frame. A parent comes before its children
  std::vector<report::FrameIndex> frames;
};

struct Row {
  uint32_t stack = 0;  // in Report::stacks; of a folded row the largest of them
  uint32_t node =
      CallNodes::kNone;  // its innermost frame; of a folded row the last one that they share with a kept stack
  uint64_t folded = 0;   // how many stacks the row stands for; 0: this one
};

struct Rows {
  CallNodes nodes;
  std::vector<Row> rows;
  std::vector<uint32_t> of_stack;  // by place in Report::stacks: its row
  uint64_t folded_stacks = 0;
  uint64_t folded_bytes = 0;  // that they allocated
};

// What says how much each stack matters where the report's figures don't.
struct Weights {
  std::vector<double> shares;  // by place in Report::stacks
  std::vector<uint8_t> kinds;  // only stacks of one kind are folded into one row
};

// At most `limit` stacks stay rows of their own: those that matter most by any of their figures, or by the weights.
Rows choose_rows(const report::Report& report, size_t limit, const Weights* weights = nullptr);

}  // namespace heaptap::html
