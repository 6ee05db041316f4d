#include "channel/attempt_limits.h"

#include <algorithm>

namespace heaptap::channel {
namespace {

constexpr int kNetworkAttempts = 5;
constexpr std::chrono::milliseconds kNetworkInterval{2'000};
constexpr int kAllAttempts = 20;
constexpr std::chrono::milliseconds kAllInterval{500};
// All together can't make more than 20 attempts and 2 a second, and one network's are forgotten in 10 s.
constexpr size_t kMaxNetworks = 64;

using Time = AttemptLimits::Time;

bool has_room(Time forgotten_at, int attempts, std::chrono::milliseconds interval, Time now) {
  return forgotten_at <= now + (attempts - 1) * interval;
}

}  // namespace

bool AttemptLimits::begin(const std::string& network, Time now) {
  std::erase_if(networks_, [&](const Count& count) { return count.forgotten_at <= now; });
  if (!has_room(all_forgotten_at_, kAllAttempts, kAllInterval, now)) return false;
  auto found = std::ranges::find(networks_, network, &Count::network);
  if (found == networks_.end()) {
    if (networks_.size() >= kMaxNetworks) return false;
    found = networks_.insert(networks_.end(), {network, now});
  }
  if (!has_room(found->forgotten_at, kNetworkAttempts, kNetworkInterval, now)) return false;
  found->forgotten_at = std::max(found->forgotten_at, now) + kNetworkInterval;
  all_forgotten_at_ = std::max(all_forgotten_at_, now) + kAllInterval;
  return true;
}

void AttemptLimits::succeeded(const std::string& network) {
  const auto found = std::ranges::find(networks_, network, &Count::network);
  if (found != networks_.end()) found->forgotten_at -= kNetworkInterval;
  all_forgotten_at_ -= kAllInterval;
}

}  // namespace heaptap::channel
