// What is typed on the host to record here: printed, so that it can be copied. Words in capitals are for the person there to fill in.
#pragma once
#include <string>

#include "channel/address.h"
#include "discovery/ip_address.h"

namespace heaptap::target {

// Of an address that stands for all of this machine's, the one that the host can reach best. `takes_over`: it is recorded already.
std::string command_on_host(const channel::Address& address, bool has_token, bool takes_over);

// An address of this machine's as the host writes it, without a port.
std::string host_text(const discovery::IpAddress& address);

}  // namespace heaptap::target
