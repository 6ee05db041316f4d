#include "host/app/run_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "host/app/exit_status.h"

namespace heaptap::app {

int run_program(const RunOptions& options) {
  fmt::print(stderr, "heaptap: can't trace '{}': recording is not available in this version\n", options.command.front());
  return kExitFailed;
}

}  // namespace heaptap::app
