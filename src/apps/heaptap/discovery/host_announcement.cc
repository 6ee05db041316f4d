#include "apps/heaptap/commands/host_announcement.h"

#include <fmt/format.h>

#include <utility>

#include "apps/heaptap/commands/terminal.h"
#include "common/discovery/announcer.h"

namespace heaptap::app {

HostAnnouncement::HostAnnouncement() = default;
HostAnnouncement::~HostAnnouncement() = default;

base::Result<> HostAnnouncement::check() { return {}; }

void HostAnnouncement::set_service(uint16_t port, bool has_token) {
  port_ = port;
  has_token_ = has_token;
}

void HostAnnouncement::add_waits(std::vector<pollfd>& waits) const {
  if (announcer_) announcer_->add_waits(waits);
}

// The announcement is withdrawn at the end.
void HostAnnouncement::serve(bool is_waiting) {
  if (!is_waiting || has_failed_) {
    announcer_.reset();
    return;
  }
  if (announcer_) return announcer_->serve();
  auto made = discovery::Announcer::create({.kind = discovery::ServiceKind::kHost,
                                            .port = port_,
                                            .version = HEAPTAP_VERSION,
                                            .is_secure = true,
                                            .has_token = has_token_});
  if (made) {
    announcer_ = std::make_unique<discovery::Announcer>(*std::move(made));
    return;
  }
  has_failed_ = true;
  print_error(fmt::format("heaptap: warning: can't announce this host: {}; give heaptap-target its address\n",
                          made.error().message));
}

}  // namespace heaptap::app
