// Search for a host that waits for targets, among those announced on the local networks. Announcements are not
// authenticated: the results are addresses to try, and the peer there must prove a known key, or the token.
#pragma once
#include <memory>
#include <string>

#include "capture/uplink/address_finder.h"

namespace heaptap::target {

// `name`: of the host; empty: any.
std::unique_ptr<uplink::AddressFinder> announced_host(std::string name);

}  // namespace heaptap::target
