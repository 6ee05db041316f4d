#include "apps/heaptap/commands/announced_target.h"

#include <algorithm>

#include "apps/heaptap/commands/symbols_server.h"
#include "common/base/clock.h"
#include "common/discovery/browser.h"
#include "common/discovery/found_place.h"

namespace heaptap::app {
namespace {

using discovery::FoundService;

constexpr uint64_t kLongestSearchNs = 3 * discovery::kSecond;
// Wait for others of that name once one is found: queries are answered at once.
constexpr uint64_t kOthersNs = discovery::kSecond / 2;

base::Result<std::vector<FoundService>> search(const std::string& name) {
  auto browser = discovery::Browser::create();
  if (!browser) return std::unexpected(std::move(browser).error());
  uint64_t end_ns = base::clock_ns(CLOCK_MONOTONIC) + kLongestSearchNs;
  std::vector<FoundService> found;
  while (browser->serve_until(end_ns)) {
    if (found.empty() && !called(browser->services(), name).empty()) {
      end_ns = std::min(end_ns, base::clock_ns(CLOCK_MONOTONIC) + kOthersNs);
    }
    found = called(browser->services(), name);
  }
  return found;
}

}  // namespace

base::Result<channel::Security> security_of_named(const std::string& name, const std::string& token_file) {
  auto security = security_of({.token_file = token_file, .target = name, .is_name = true});
  if (!security || security->token || (security->keys && !security->keys->trusted.empty())) return security;
  return base::fail(
      "'{}' is neither an address nor the name of a paired target: `heaptap-target pair` on the target prints the "
      "command to type here (heaptap pair ADDRESS KEY {}); or give its address: HOST:PORT, or a socket's path with a "
      "slash in it",
      name, name);
}

base::Result<std::vector<channel::Address>> find_announced(const std::string& name) {
  const auto found = search(name);
  if (!found) return std::unexpected(found.error());
  if (found->empty()) {
    return base::fail(
        "no target named '{}' on the local networks: check that `heaptap-target serve --announce` runs there, and what "
        "`heaptap discover` finds; or give its address, HOST:PORT",
        name);
  }
  if (found->size() > 1) {
    return base::fail("several targets named '{}' on the local networks: {}; give the address of the right one", name,
                      discovery::places_text(*found));
  }
  std::vector<channel::Address> addresses;
  for (const discovery::FoundAddress& each : found->front().addresses) {
    const auto address = channel::parse_address(discovery::endpoint_text(each, found->front().port));
    if (address) addresses.push_back(*address);
  }
  if (addresses.empty()) return base::fail("the target named '{}' announces no address that can be connected to", name);
  return addresses;
}

}  // namespace heaptap::app
