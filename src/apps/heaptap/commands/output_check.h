// Check that the trace can be written, before anything is started or stopped.
#pragma once
#include "apps/heaptap/commands/run_command.h"
#include "common/base/result.h"

namespace heaptap::app {

base::Result<> check_output(const RunOptions& options);

}  // namespace heaptap::app
