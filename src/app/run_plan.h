// What `run` and `attach` are going to do: whether that makes sense, and how it is captured. Found out before anything is
// started or stopped.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/run_command.h"
#include "base/result.h"
#include "collect/program_check.h"

namespace heaptap::app {

struct RunPlan {
  std::optional<collect::Program> program;                // none: only processes that run already
  bool by_tracer = false;                                 // with ptrace, not with the agent
  std::string why;                                        // where that wasn't asked for: a sentence
  std::vector<model::SuppressionText> suppressions = {};  // that traces carry
};

base::Result<RunPlan> make_plan(const RunOptions& options);

}  // namespace heaptap::app
