// `heaptap run -H ADDRESS` and `attach -H ADDRESS`: the program runs on another machine, under heaptap-target; everything else happens
// here.
#pragma once
#include <optional>

#include "analysis/suppressions.h"
#include "app/run_command.h"
#include "base/result.h"
#include "channel/security.h"
#include "collect/recorded_processes.h"
#include "collect/report_requests.h"

namespace heaptap::app {

// Whether the options are valid for a remote target.
base::Result<> check_remote(const RunOptions& options);

struct RemoteOutcome {
  std::vector<collect::FinishedTrace> traces;
  int status = 0;
};
base::Result<RemoteOutcome> record_remotely(const RunOptions& options, collect::RecordingOptions recording,
                                            collect::ReportWriter& reports);

}  // namespace heaptap::app
