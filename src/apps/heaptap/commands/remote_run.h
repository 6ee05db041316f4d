// `heaptap run -H ADDRESS` and `attach -H ADDRESS`: the program runs on another machine, under heaptap-target; everything else happens
// here.
#pragma once
#include <optional>

#include "analysis/query/suppressions.h"
#include "apps/heaptap/commands/run_command.h"
#include "capture/supervision/recorded_processes.h"
#include "capture/supervision/report_requests.h"
#include "common/base/result.h"
#include "common/channel/security.h"

namespace heaptap::app {

class ProfilePushes;

// Whether the options are valid for a remote target.
base::Result<> check_remote(const RunOptions& options);

struct RemoteOutcome {
  std::vector<supervision::FinishedTrace> traces;
  int status = 0;
};
// `pushes`: null if there are none.
base::Result<RemoteOutcome> record_remotely(const RunOptions& options, supervision::RecordingOptions recording,
                                            supervision::ReportWriter& reports, ProfilePushes* pushes);

}  // namespace heaptap::app
