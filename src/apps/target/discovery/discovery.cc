#include "apps/target/discovery.h"

namespace heaptap::target {

constexpr DiscoveryHelp kDiscoveryHelp{
    .connect = R"(  connect [ADDRESS|NAME]  connect to a waiting host: heaptap run -H
                          listen:ADDRESS; without an address, or by a NAME, to
                          one that announces itself: -H listen:
)",
    .announce = R"(  --announce              announce the address (TCP) on the local networks, for
                          `heaptap discover`
)"};

base::Result<> check_discovery(std::string_view /*what*/) { return {}; }

}  // namespace heaptap::target
