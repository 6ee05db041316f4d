// Check that the trace can be written, before anything is started or stopped.
#pragma once
#include "app/run_command.h"
#include "base/result.h"

namespace heaptap::app {

base::Result<> check_output(const RunOptions& options);

}  // namespace heaptap::app
