// `heaptap diff`: compares recordings, or two moments of one.
#pragma once
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/compare.h"
#include "app/color_mode.h"
#include "app/html_file.h"

namespace heaptap::app {

struct DiffOptions {
  std::vector<std::string> traces;  // two or more in order; with moments one
  uint32_t image = 0;               // of each: of the programs that its process executed; 0: the last one
  std::string from;                 // a moment; empty: whole recordings are compared
  std::string to;
  analysis::Query query;
  analysis::CompareOptions compare;
  std::vector<std::string> suppressions;  // files
  size_t limit = 10;                      // stacks in text; 0: all
  size_t depth = 8;                       // frames in text; 0: all
  bool json = false;
  bool html = false;  // a file, as `file` says
  HtmlFileOptions file;
  ColorMode color = ColorMode::kAuto;
};

// The reports of whole traces, or of one trace's moments, as they are compared.
base::Result<std::vector<report::Report>> read_for_comparison(const std::vector<std::string>& traces,
                                                              const analysis::Query& query);

// Returns heaptap's exit status.
int perform(DiffOptions options);

}  // namespace heaptap::app
