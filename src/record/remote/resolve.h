// Host name resolution. Linked only into heaptap on the host: getaddrinfo brings in the C library's name service, and
// may block.
#pragma once
#include <vector>

#include "common/base/result.h"
#include "common/channel/address.h"

namespace heaptap::remote {

// In the order to try; an address that is no name is returned as it is.
base::Result<std::vector<channel::Address>> resolve(const channel::Address& address);

}  // namespace heaptap::remote
