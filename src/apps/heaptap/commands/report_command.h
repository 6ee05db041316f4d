// `heaptap report`: report of a trace, or of a recording of several processes, as an HTML file.
#pragma once
#include <string>
#include <vector>

#include "analysis/query/analyze.h"
#include "apps/heaptap/commands/html_file.h"

namespace heaptap::app {

struct ReportOptions {
  std::string trace;
  uint32_t image = 0;  // number of the program that a process executed, from 1; 0: the last one
  HtmlFileOptions file;
  bool sources = false;
  query::Query query;
  std::vector<std::string> suppressions;  // files
};

// Returns heaptap's exit status.
int perform(const ReportOptions& options);

}  // namespace heaptap::app
