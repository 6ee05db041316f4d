// In place of apps/target/discovery, in a build without multicast DNS (HEAPTAP_DISCOVERY=OFF): what needs it is a wrong command
// line, and the help doesn't list it.
#include "apps/target/announced_host.h"
#include "apps/target/announcement.h"
#include "apps/target/discovery.h"

namespace heaptap::discovery {
class Announcer {};
}  // namespace heaptap::discovery

namespace heaptap::target {

constexpr DiscoveryHelp kDiscoveryHelp{.connect = R"(  connect ADDRESS         connect to a waiting host: heaptap run -H
                          listen:ADDRESS
)",
                                       .announce = {}};

base::Result<> check_discovery(std::string_view what) {
  return base::fail_as(
      base::ErrorKind::kUsage,
      "{} needs multicast DNS, which this build of heaptap-target lacks: use an address instead, HOST:PORT", what);
}

// Refused with the command line: nothing below is reached with something to do.
// NOLINTNEXTLINE(performance-unnecessary-value-param): as declared for a build with multicast DNS, where it is moved from.
std::unique_ptr<uplink::AddressFinder> announced_host(std::string /*name*/) { return nullptr; }

Announcement::Announcement() = default;
Announcement::~Announcement() = default;
base::Result<> Announcement::begin(const channel::Address& /*address*/, bool /*has_token*/, bool /*has_begun*/) {
  return check_discovery("--announce");
}
bool Announcement::is_heard() const { return false; }
int Announcement::longest_wait_ms(int most) const { return most; }
void Announcement::leave() {}
void Announcement::set_program(std::string_view /*program*/) {}
void Announcement::add_waits(std::vector<pollfd>& /*waits*/) const {}
void Announcement::serve() {}

}  // namespace heaptap::target
