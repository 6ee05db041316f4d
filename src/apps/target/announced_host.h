// Search for a host that waits for targets, among those announced on the local networks. Announcements are not
// authenticated: the results are addresses to try, and the peer there must prove a known key, or the token.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "capture/uplink/address_finder.h"
#include "common/discovery/browser.h"

namespace heaptap::target {

class AnnouncedHost : public uplink::AddressFinder {
 public:
  // Empty: any.
  explicit AnnouncedHost(std::string name) : name_(std::move(name)) {}

  void begin(line::TimePoint now) override;
  void add_waits(std::vector<pollfd>& waits) const override;
  std::optional<base::Result<std::vector<channel::Address>>> proceed(line::TimePoint now) override;

 private:
  [[nodiscard]] base::Result<std::vector<channel::Address>> addresses() const;

  std::string name_;
  std::optional<discovery::Browser> browser_;
  std::string why_not_;
  std::vector<discovery::FoundService> found_;
  line::TimePoint until_;
};

}  // namespace heaptap::target
