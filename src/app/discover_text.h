// Services that were found, as a table, as lines, and as JSON (docs/json.md).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "discovery/found_services.h"

namespace heaptap::app {

// `width` characters; 0: any number.
std::string services_as_table(const std::vector<discovery::FoundService>& services, size_t width);
// What is typed to record there, of those that say that they want proof of who comes, with the address where there is but one; and that nobody
// has to be what is announced. A line each.
std::string advice_on(const std::vector<discovery::FoundService>& services);
std::string services_as_json(const std::vector<discovery::FoundService>& services);

// Of one that came, changed or went: `what` says which.
std::string service_as_line(std::string_view what, const discovery::FoundService& service);
std::string service_as_json_line(std::string_view what, const discovery::FoundService& service);

}  // namespace heaptap::app
