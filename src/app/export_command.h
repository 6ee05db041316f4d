// `heaptap export`: writes a trace's report in the format of another tool.
#pragma once
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "app/moment.h"
#include "base/result.h"

namespace heaptap::app {

struct ExportOptions {
  std::string format;
  std::string trace;
  uint32_t image = 0;           // of the programs that a process executed the first, second, …; 0: the last one
  std::string metric = "live";  // where the format shows one
  std::string output;           // a file; empty: standard output
  bool force = false;           // the file may be there already
  MomentSeries moments;         // of a format in numbered files; none: the whole recording
  analysis::Query query;
  std::vector<std::string> suppressions;  // files
};

// Of the trace that is named, or the newest one here.
base::Result<> export_trace(ExportOptions options);

// Returns heaptap's exit status.
int perform(const ExportOptions& options);

}  // namespace heaptap::app
