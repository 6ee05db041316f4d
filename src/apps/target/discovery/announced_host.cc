#include "apps/target/announced_host.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/discovery/browser.h"
#include "common/discovery/found_place.h"

namespace heaptap::target {
namespace {

constexpr std::chrono::seconds kLongestSearch{3};
constexpr std::chrono::milliseconds kOtherHosts{500};  // once one is found: queries are answered at once

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

void AnnouncedHost::begin(line::TimePoint now) {
  browser_.reset();
  found_.clear();
  until_ = now + kLongestSearch;
  auto browser = discovery::Browser::create(discovery::ServiceKind::kHost);
  if (browser) {
    browser_.emplace(*std::move(browser));
  } else {
    why_not_ = browser.error().message;
  }
}

void AnnouncedHost::add_waits(std::vector<pollfd>& waits) const {
  if (browser_) browser_->add_waits(waits);
}

std::optional<base::Result<std::vector<channel::Address>>> AnnouncedHost::proceed(line::TimePoint now) {
  if (!browser_) return base::fail("can't look for a host: {}", why_not_);
  browser_->serve();
  const bool had_one = !found_.empty();
  found_ = discovery::called(browser_->services(), name_);
  if (!found_.empty() && !had_one) until_ = std::min(until_, now + kOtherHosts);
  if (now < until_) return std::nullopt;
  browser_.reset();
  return addresses();
}

base::Result<std::vector<channel::Address>> AnnouncedHost::addresses() const {
  if (found_.empty()) {
    const std::string which = name_.empty() ? "a host" : "the host '" + name_ + "'";
    return base::fail(
        "can't find {} waiting on the local networks: start `heaptap run -H listen: -- PROGRAM` there, or give its "
        "address, HOST:PORT",
        which);
  }
  if (!name_.empty() && found_.size() > 1) {
    return base::fail("can't choose a host: several are named '{}': {}; give the address of the right one", name_,
                      discovery::places_text(found_));
  }
  std::vector<channel::Address> all;
  for (const discovery::FoundService& host : found_) {
    for (const discovery::FoundAddress& each : host.addresses) {
      const auto address = channel::parse_address(discovery::endpoint_text(each, host.port));
      if (address) all.push_back(*address);
    }
  }
  if (all.empty())
    return base::fail("can't connect to the waiting host: none of its addresses can be reached from here");
  return all;
}

}  // namespace

std::unique_ptr<uplink::AddressFinder> announced_host(std::string name) {
  return std::make_unique<AnnouncedHost>(std::move(name));
}

}  // namespace heaptap::target
