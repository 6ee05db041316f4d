#include "common/network/reach.h"

#include <netinet/in.h>

#include <algorithm>

namespace heaptap::network {

Reach Reach::of_socket(const sockaddr_storage& name) {
  Reach reach;
  const IpAddress bound = Endpoint::of(name).address;
  reach.family_ = bound.family;
  if (bound == IpAddress{.family = bound.family}) return reach;  // 0.0.0.0, [::]
  reach.address_ = bound;
  if (bound.family == Family::kIpv6) reach.link_ = reinterpret_cast<const sockaddr_in6&>(name).sin6_scope_id;
  return reach;
}

bool Reach::covers(const Link& link, const IpAddress& address) const {
  if (family_ && address.family != *family_) return false;
  return !address_ || (address == *address_ && (link_ == 0 || link_ == link.index));
}

bool Reach::covers_some(const Link& link) const {
  return std::ranges::any_of(link.addresses, [&](const LinkAddress& own) { return covers(link, own.address); });
}

std::optional<IpAddress> Reach::best_of(const std::vector<Link>& links) const {
  std::vector<IpAddress> covered;
  for (const Link& link : links) {
    for (const LinkAddress& own : link.addresses) {
      if (covers(link, own.address) && !own.address.is_loopback()) covered.push_back(own.address);
    }
  }
  const auto best = std::ranges::min_element(covered, {}, &IpAddress::is_link_local);
  return best == covered.end() ? std::nullopt : std::optional(*best);
}

std::string Reach::label() const {
  if (!address_) return family_ == Family::kIpv6 ? "ipv6" : "";
  std::string label = address_->text();
  std::ranges::replace_if(label, [](char letter) { return letter == '.' || letter == ':'; }, '-');
  return label;
}

}  // namespace heaptap::network
