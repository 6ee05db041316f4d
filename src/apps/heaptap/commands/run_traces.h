// Runs: traces of processes recorded together, listed in an index that `heaptap run` and `attach` write beside them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/query/analyze.h"
#include "analysis/report/report.h"
#include "capture/supervision/recorded_processes.h"
#include "common/base/result.h"
#include "record/trace/run_index.h"

namespace heaptap::app {

// Writes the index of traces recorded together, atomically. Returns its path; empty: there is one trace, which needs none.
base::Result<std::string> write_run(const std::vector<supervision::FinishedTrace>& traces, bool force);

struct Run {
  std::string path;
  std::vector<trace::RunEntry> entries;  // the main program's first
};
// None: not an index, but maybe a trace.
base::Result<std::optional<Run>> open_run(const std::string& path);

// Trace of a process; if it executed other programs, that of the last one.
base::Result<std::string> trace_of(const Run& run, uint32_t pid);

// Trace of the n-th program that a process executed. `trace`: an index, or the trace of one of its programs, with the index beside it.
// `process`: selects one of several in the run; 0: there is only one.
base::Result<std::string> trace_of_image(const std::string& trace, uint32_t process, uint32_t image);
// Same; for image 0 returns `trace` unchanged.
base::Result<std::string> chosen_trace(const std::string& trace, uint32_t image);

// Merged report of all its traces. An unreadable one is listed with its failure; fails if all are unreadable.
base::Result<report::Report> read_run(const Run& run, const query::Query& query);

}  // namespace heaptap::app
