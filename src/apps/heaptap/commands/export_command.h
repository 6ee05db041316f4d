// `heaptap export`: a trace's report in another tool's format.
#pragma once
#include <string>
#include <vector>

#include "analysis/query/analyze.h"
#include "analysis/report/chosen_memory.h"
#include "apps/heaptap/options/moment.h"
#include "common/base/result.h"

namespace heaptap::app {

struct ExportOptions {
  std::string format;
  std::string trace;
  uint32_t image = 0;           // number of the program that a process executed, from 1; 0: the last one
  std::string metric = "live";  // if the format shows a single one
  report::Memory memory = report::Memory::kMalloc;
  std::string output;    // a file; empty: standard output
  bool force = false;    // replace an existing file
  MomentSeries moments;  // for a format in numbered files; empty: the whole recording
  query::Query query;
  std::vector<std::string> suppressions;  // files
};

// Exports the named trace, or the newest one in the working directory.
base::Result<> export_trace(ExportOptions options);

// Returns heaptap's exit status.
int perform(const ExportOptions& options);

}  // namespace heaptap::app
