// `heaptap-target pair` and `token`: how a host comes to be known.
#pragma once
#include <string>

#include "base/result.h"
#include "heaptap_target/command_line.h"

namespace heaptap::target {

// Makes this machine's key where there is none, takes the host's for one that may come, and gives what is typed on the host.
base::Result<std::string> pair(const Options& options);
// A new token. A file that it is written to becomes its owner's alone first.
base::Result<std::string> make_token(int output);

}  // namespace heaptap::target
