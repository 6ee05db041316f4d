// Whether the trace can be written, found out before anything is started or stopped.
#pragma once
#include "host/app/run_command.h"
#include "host/base/result.h"

namespace heaptap::app {

base::Result<> check_output(const RunOptions& options);

}  // namespace heaptap::app
