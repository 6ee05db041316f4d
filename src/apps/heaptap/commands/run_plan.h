// Plan of `run` and `attach`: validity, and capture method. Made before anything is started or stopped.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "apps/heaptap/commands/run_command.h"
#include "capture/launch/program_check.h"
#include "common/base/result.h"

namespace heaptap::app {

struct RunPlan {
  std::optional<launch::Program> program;                 // none: running processes only
  bool by_tracer = false;                                 // by ptrace, not by the agent
  bool injects = false;                                   // by the agent, put into running processes
  bool may_trace_instead = false;                         // where it can't be put in
  std::string why;                                        // reason, if not requested: a sentence
  std::vector<model::SuppressionText> suppressions = {};  // to be carried by the traces
};

base::Result<RunPlan> make_plan(const RunOptions& options);

}  // namespace heaptap::app
