// What people call a service that was found, and how they write where it is.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/found_services.h"

namespace heaptap::discovery {

// With the interface where the address means another machine behind each.
std::string address_text(const FoundAddress& found);
// As channel::parse_address() takes it.
std::string endpoint_text(const FoundAddress& found, uint16_t port);
// Those that have this name; where none has it, those of the host that is called so. Whether letters are large makes no difference.
// Only those whose addresses are known; an empty name: all of these.
std::vector<FoundService> called(const std::vector<FoundService>& services, std::string_view name);

// "10.0.0.7:7421 (board.local), …": what is called by one name, for people.
std::string places_text(const std::vector<FoundService>& services);

}  // namespace heaptap::discovery
