// Display names and addresses of found services.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/discovery/found_services.h"

namespace heaptap::discovery {

// With the interface, if the address is link-local.
std::string address_text(const FoundAddress& found);
// In the format of channel::parse_address().
std::string endpoint_text(const FoundAddress& found, uint16_t port);
// Services with this name; if there are none, those of the host with that name. Case-insensitive. Only those with known
// addresses; an empty name: all of these.
std::vector<FoundService> called(const std::vector<FoundService>& services, std::string_view name);

// "10.0.0.7:7421 (board.local), …": services of one name, for display.
std::string places_text(const std::vector<FoundService>& services);

}  // namespace heaptap::discovery
