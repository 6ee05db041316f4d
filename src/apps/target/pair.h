// `heaptap-target pair` and `token`: setup of trust between host and target.
#pragma once
#include <string>

#include "apps/target/command_line.h"
#include "common/base/result.h"

namespace heaptap::target {

// Creates this machine's key if needed, adds the host's to the authorized ones, and returns the command to type on the host.
base::Result<std::string> pair(const Options& options);
// Writes a new token. An output file is first made private to its owner.
base::Result<std::string> make_token(int output);

}  // namespace heaptap::target
