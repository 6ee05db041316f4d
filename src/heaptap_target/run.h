// `run`, `attach` and `record`: what is recorded is said here, and begins at once; a host takes it over later, or reads it as a file.
#pragma once
#include "base/result.h"
#include "heaptap_target/command_line.h"

namespace heaptap::target {

// With this program's exit status: that of the program that was started.
base::Result<int> run(const Options& options);

}  // namespace heaptap::target
