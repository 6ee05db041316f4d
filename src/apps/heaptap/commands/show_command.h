// `heaptap show`: one view of a trace.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/findings/frame_text.h"
#include "analysis/query/analyze.h"
#include "analysis/report/chosen_memory.h"
#include "analysis/report/view.h"
#include "apps/heaptap/options/color_mode.h"
#include "views/json/json_version.h"

namespace heaptap::app {

// Presentation of a run with several processes: merged, or a table.
enum class RunTable : uint8_t { kAll, kProcesses, kPrograms };

struct ShowOptions {
  report::View view = report::View::kSummary;
  std::string trace;  // empty: the newest one in the working directory
  query::Query query;
  RunTable table = RunTable::kAll;
  uint32_t process = 0;                   // of several: only this one; 0: all
  uint32_t image = 0;                     // number of the program that a process executed, from 1; 0: the last one
  std::optional<json::Version> json;      // of the document; none: text
  bool ndjson = false;                    // also machine-readable
  bool lines = false;                     // a line for each finding, as a compiler's errors
  std::vector<std::string> suppressions;  // files
  bool sorted = false;                    // a sort key is given
  bool bottom_up = false;
  std::optional<report::Memory> memory = {};  // of the tree; none: what the report is about
  findings::FrameTextOptions frames;
  std::optional<uint64_t> open;  // the source of this stack in an editor; 0: of the first one
  bool no_pager = false;
  bool quiet = false;    // no warnings
  bool running = false;  // the trace is being written: an incomplete end is no damage
  ColorMode color = ColorMode::kAuto;
  std::optional<size_t> width = {};  // columns of text, whose lines are whole then; none: the terminal's
};

// Provider of the report to show.
using ReportSource = std::function<base::Result<report::Report>(const query::Query& query)>;
// Prints the view of the report from `source`, and warnings; independent of the trace.
base::Result<> show(const ShowOptions& options, const ReportSource& source);
// Same as text, folded to the terminal's width.
base::Result<std::string> shown_text(const ShowOptions& options, const ReportSource& source);
// Report of the named trace or index.
base::Result<report::Report> read_recording(const ShowOptions& options, const query::Query& query);
// Shows the named trace, or the newest one in the working directory.
base::Result<> show_trace(ShowOptions options);

// Option that isn't available for several processes; null: none.
const char* need_of_one_process(const ShowOptions& options);

// Returns heaptap's exit status.
int perform(const ShowOptions& options);

}  // namespace heaptap::app
