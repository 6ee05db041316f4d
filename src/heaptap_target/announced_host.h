// Search for a host that waits for targets, among those announced on the local networks. Announcements are not
// authenticated: the results are addresses to try, and the peer there must prove a known key, or the token.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "discovery/browser.h"
#include "remote/address_finder.h"

namespace heaptap::target {

class AnnouncedHost : public remote::AddressFinder {
 public:
  // Empty: any.
  explicit AnnouncedHost(std::string name) : name_(std::move(name)) {}

  void begin(remote::TimePoint now) override;
  void add_waits(std::vector<pollfd>& waits) const override;
  std::optional<base::Result<std::vector<channel::Address>>> proceed(remote::TimePoint now) override;

 private:
  [[nodiscard]] base::Result<std::vector<channel::Address>> addresses() const;

  std::string name_;
  std::optional<discovery::Browser> browser_;
  std::string why_not_;
  std::vector<discovery::FoundService> found_;
  remote::TimePoint until_;
};

}  // namespace heaptap::target
