// In place of apps/heaptap/discovery, in a build without multicast DNS (HEAPTAP_DISCOVERY=OFF): what needs it is a wrong
// command line, and the help doesn't list it.
#include "apps/heaptap/commands/announced_target.h"
#include "apps/heaptap/commands/discover_command.h"
#include "apps/heaptap/commands/host_announcement.h"
#include "apps/heaptap/options/command_options.h"
#include "common/base/exit_status.h"

namespace heaptap::discovery {
class Announcer {};
}  // namespace heaptap::discovery

namespace heaptap::app {

using base::ErrorKind;
using base::fail_as;

base::Result<Command> parse_discover(const Arguments& /*arguments*/, const Defaults& /*defaults*/) {
  return fail_as(
      ErrorKind::kUsage,
      "discover: this build of heaptap has no multicast DNS to look for targets: give -H the address of one, "
      "HOST:PORT");
}

int perform(const DiscoverOptions& /*options*/) { return base::exit_status_of(ErrorKind::kUsage); }

std::string_view discover_help() { return {}; }

base::Result<channel::Security> security_of_named(const std::string& name, const std::string& /*token_file*/) {
  return fail_as(ErrorKind::kUsage,
                 "'{}' is not an address, and this build of heaptap has no multicast DNS to look for a target of that "
                 "name: give HOST:PORT, or a socket's path with a slash in it",
                 name);
}

base::Result<std::vector<channel::Address>> find_announced(const std::string& name) {
  return std::unexpected(security_of_named(name, {}).error());
}

HostAnnouncement::HostAnnouncement() = default;
HostAnnouncement::~HostAnnouncement() = default;

base::Result<> HostAnnouncement::check() {
  return fail_as(
      ErrorKind::kUsage,
      "-H listen: needs an address, as in listen:0.0.0.0:7421: this build of heaptap has no multicast DNS, by "
      "which targets would find it");
}

void HostAnnouncement::set_service(uint16_t /*port*/, bool /*has_token*/) {}
void HostAnnouncement::add_waits(std::vector<pollfd>& /*waits*/) const {}
void HostAnnouncement::serve(bool /*is_waiting*/) {}

}  // namespace heaptap::app
