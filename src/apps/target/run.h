// `run`, `attach` and `record`: recordings specified here, started at once; a host takes them over later, or reads them from a file.
#pragma once
#include "apps/target/command_line.h"
#include "common/base/result.h"

namespace heaptap::target {

// Returns this program's exit status: that of the started program.
base::Result<int> run(const Options& options);

}  // namespace heaptap::target
