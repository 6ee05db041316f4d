// Which processes of a run a report file has as rows of their own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "report/report.h"

namespace heaptap::html {

struct ProcessRow {
  uint32_t process = 0;  // in Report::processes
  uint64_t folded = 0;   // how many the row stands for; 0: this one
};

struct ProcessRows {
  std::vector<ProcessRow> rows;
  std::vector<uint32_t> of_process;  // by place in Report::processes: its row
  uint64_t folded = 0;
};

// At most `limit` have rows of their own, in their order: the main one, then what leaks most, then what was largest. The last row
// stands for the others.
ProcessRows choose_processes(const report::Report& report, size_t limit);

}  // namespace heaptap::html
