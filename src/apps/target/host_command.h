// Command to type on the host for recording here: printed for copying. Words in capitals are placeholders.
#pragma once
#include <string>

#include "common/channel/address.h"
#include "common/network/ip_address.h"

namespace heaptap::target {

// For a wildcard address, uses the one that the host can reach best. `takes_over`: it is recorded already.
std::string command_on_host(const channel::Address& address, bool has_token, bool takes_over);

// Address of this machine as written on the host, without a port.
std::string host_text(const network::IpAddress& address);

}  // namespace heaptap::target
