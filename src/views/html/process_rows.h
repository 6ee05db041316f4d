// Folding of a run's processes in a report file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::html {

struct ProcessRow {
  uint32_t process = 0;  // in Report::processes
  uint64_t folded = 0;   // number of processes in the row; 0: not folded
};

struct ProcessRows {
  std::vector<ProcessRow> rows;
  std::vector<uint32_t> of_process;  // by index into Report::processes: its row
  uint64_t folded = 0;
};

// At most `limit` keep rows of their own: the main process, the one with the largest peak, then by leaks, then by peak; these stay in their original order. The last row
// stands for the others.
ProcessRows choose_processes(const report::Report& report, size_t limit);

}  // namespace heaptap::html
