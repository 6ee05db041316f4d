// Host name resolution. Linked only into heaptap on the host: getaddrinfo brings in the C library's name service, and
// may block.
#pragma once
#include <vector>

#include "base/result.h"
#include "channel/address.h"

namespace heaptap::channel {

// In the order to try; an address that is no name is returned as it is.
base::Result<std::vector<Address>> resolve(const Address& address);

}  // namespace heaptap::channel
