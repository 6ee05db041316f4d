// Discovered services as a table, as lines, and as JSON (docs/json.md).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/discovery/found_services.h"

namespace heaptap::app {

// `width` in characters; 0: unlimited.
std::string services_as_table(const std::vector<discovery::FoundService>& services, size_t width);
// Commands to record there, for services that require authentication, with the address if there is only one; and a warning that
// announcements are unauthenticated. One line each.
std::string advice_on(const std::vector<discovery::FoundService>& services);
std::string services_as_json(const std::vector<discovery::FoundService>& services);

// Line about one service; `what`: whether it appeared, changed or disappeared.
std::string service_as_line(std::string_view what, const discovery::FoundService& service);
std::string service_as_json_line(std::string_view what, const discovery::FoundService& service);

}  // namespace heaptap::app
