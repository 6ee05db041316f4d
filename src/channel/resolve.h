// Names of hosts become numbers. Only heaptap on the host links this: getaddrinfo brings the C library's name service with it,
// and may wait for it.
#pragma once
#include <vector>

#include "base/result.h"
#include "channel/address.h"

namespace heaptap::channel {

// In the order in which they are to be tried; an address that is no name, as it is.
base::Result<std::vector<Address>> resolve(const Address& address);

}  // namespace heaptap::channel
