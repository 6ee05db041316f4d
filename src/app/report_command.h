// `heaptap report`: writes the report of a trace, or of a recording of several processes, as one HTML file.
#pragma once
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "app/html_file.h"

namespace heaptap::app {

struct ReportOptions {
  std::string trace;
  uint32_t image = 0;  // of the programs that a process executed the first, second, …; 0: the last one
  HtmlFileOptions file;
  bool sources = false;
  analysis::Query query;
  std::vector<std::string> suppressions;  // files
};

// Returns heaptap's exit status.
int perform(const ReportOptions& options);

}  // namespace heaptap::app
