// `heaptap report`: writes a trace's report as one HTML file.
#pragma once
#include <string>
#include <vector>

#include "analysis/analyze.h"

namespace heaptap::app {

struct ReportOptions {
  std::string trace;
  std::string output;  // a file; empty: beside the working directory's traces, named after the trace
  bool force = false;  // the file may be there already
  bool open = false;   // in a browser
  bool full = false;   // however large it becomes
  bool sources = false;
  bool quiet = false;
  analysis::Query query;
  std::vector<std::string> suppressions;  // files
};

// Returns heaptap's exit status.
int perform(const ReportOptions& options);

}  // namespace heaptap::app
