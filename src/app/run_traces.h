// A run: the traces of processes that were recorded together, by the index that `heaptap run` and `attach` write beside them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "base/result.h"
#include "collect/recorded_processes.h"
#include "report/report.h"
#include "trace/run_index.h"

namespace heaptap::app {

// Writes the index of traces that were recorded together, whole or not at all. Its path; empty: there is one trace, which needs
// none.
base::Result<std::string> write_run(const std::vector<collect::FinishedTrace>& traces, bool force);

struct Run {
  std::string path;
  std::vector<trace::RunEntry> entries;  // the main program's first
};
// None: the file is none, but may be a trace.
base::Result<std::optional<Run>> open_run(const std::string& path);

// The trace of a process; of one that executed other programs that of the last one.
base::Result<std::string> trace_of(const Run& run, uint32_t pid);

// The trace of the first, second, … of the programs that a process executed one after the other. `trace`: an index, or the trace of
// one of them, beside which the index is. `process`: of a run of several; 0: there is one.
base::Result<std::string> trace_of_image(const std::string& trace, uint32_t process, uint32_t image);
// The same, where no image is chosen, which is 0, `trace` as it is.
base::Result<std::string> chosen_trace(const std::string& trace, uint32_t image);

// All of its traces read by the query, and made one report. What can't be read is listed with its failure; fails where that is
// all.
base::Result<report::Report> read_run(const Run& run, const analysis::Query& query);

}  // namespace heaptap::app
