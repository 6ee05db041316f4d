// Interface of the command line to multicast DNS, which a build may lack (HEAPTAP_DISCOVERY=OFF): apps/target/discovery
// is one implementation of this and of announcement.h and announced_host.h, apps/target/without_discovery.cc the other.
#pragma once
#include <string_view>

#include "common/base/result.h"

namespace heaptap::target {

// Its lines in the help.
struct DiscoveryHelp {
  std::string_view connect;   // the command
  std::string_view announce;  // the option
};
extern const DiscoveryHelp kDiscoveryHelp;

// Whether this build has it. `what`: what needs it, for the error.
base::Result<> check_discovery(std::string_view what);

}  // namespace heaptap::target
