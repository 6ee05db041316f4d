// `heaptap show`: reads a trace and prints one view of it.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analyze.h"
#include "app/color_mode.h"
#include "report/render.h"

namespace heaptap::app {

// What is shown of a recording of several processes: all together, or a table.
enum class RunTable : uint8_t { kAll, kProcesses, kPrograms };

struct ShowOptions {
  report::View view = report::View::kSummary;
  std::string trace;  // empty: the newest one here
  analysis::Query query;
  RunTable table = RunTable::kAll;
  uint32_t process = 0;  // of a recording of several only this one; 0: all
  uint32_t image = 0;    // of the programs that a process executed the first, second, …; 0: the last one
  bool json = false;
  bool ndjson = false;                    // likewise for programs
  std::vector<std::string> suppressions;  // files
  bool sorted = false;                    // a sort key was given
  bool bottom_up = false;
  report::FrameTextOptions frames;
  bool no_pager = false;
  bool quiet = false;    // no warnings
  bool running = false;  // the trace is being written: that it has no end is no damage
  ColorMode color = ColorMode::kAuto;
};

// Where the report comes from that is shown.
using ReportSource = std::function<base::Result<report::Report>(const analysis::Query& query)>;
// Prints the view of the report that `source` gives, and warnings; what the trace is doesn't matter here.
base::Result<> show(const ShowOptions& options, const ReportSource& source);
// The same as text, folded to the terminal's width.
base::Result<std::string> shown_text(const ShowOptions& options, const ReportSource& source);
// Of the trace that is named, or the newest one here.
base::Result<> show_trace(ShowOptions options);

// What of the options can't be had of several processes; null: nothing.
const char* need_of_one_process(const ShowOptions& options);

// Returns heaptap's exit status.
int perform(const ShowOptions& options);

}  // namespace heaptap::app
