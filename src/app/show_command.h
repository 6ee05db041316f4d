// `heaptap show`: reads a trace and prints one view of it.
#pragma once
#include <string>

#include "analysis/analyze.h"
#include "app/terminal.h"
#include "report/render.h"

namespace heaptap::app {

struct ShowOptions {
  report::View view = report::View::kSummary;
  std::string trace;
  analysis::Query query;
  bool json = false;
  std::vector<std::string> suppressions;  // files
  bool sorted = false;                    // a sort key was given
  bool bottom_up = false;
  bool quiet = false;    // no warnings
  bool running = false;  // the trace is being written: that it has no end is no damage
  ColorMode color = ColorMode::kAuto;
};

// Returns heaptap's exit status.
int perform(const ShowOptions& options);

}  // namespace heaptap::app
