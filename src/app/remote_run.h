// `heaptap run -H ADDRESS` and `attach -H ADDRESS`: the program runs on another machine, where heaptap-target is, and all else happens
// on this one.
#pragma once
#include <optional>

#include "analysis/suppressions.h"
#include "app/run_command.h"
#include "base/result.h"
#include "channel/security.h"
#include "collect/recorded_processes.h"
#include "collect/report_requests.h"

namespace heaptap::app {

// Whether the options make sense with another machine.
base::Result<> check_remote(const RunOptions& options);

struct RemoteOutcome {
  std::vector<collect::FinishedTrace> traces;
  int status = 0;
};
base::Result<RemoteOutcome> record_remotely(const RunOptions& options, collect::RecordingOptions recording,
                                            collect::ReportWriter& reports);

}  // namespace heaptap::app
