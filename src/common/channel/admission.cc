#include "common/channel/admission.h"

#include <algorithm>

namespace heaptap::channel {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRemembered{2'000};
constexpr int kAllAtOnce = 20;
constexpr milliseconds kAllInterval{100};
constexpr milliseconds kHeardAlone{2'000};
constexpr std::chrono::hours kWelcome{1};
constexpr int kWelcomeAttempts = 5;
constexpr size_t kMaxNetworks = 256;

}  // namespace

Admission::Network& Admission::network(const std::string& name, Time now) {
  const auto found = std::ranges::find(networks_, name, &Network::name);
  if (found != networks_.end()) return *found;
  std::erase_if(networks_, [&](const Network& each) { return each.forgotten_at <= now && each.welcome_until <= now; });
  // If more come at once, one is dropped, known peers last.
  if (networks_.size() >= kMaxNetworks)
    networks_.erase(std::ranges::min_element(networks_, {}, &Network::welcome_until));
  return networks_.emplace_back(Network{.name = name, .forgotten_at = now, .welcome_until = now});
}

int Admission::debt(const std::string& name, Time now) const {
  const auto found = std::ranges::find(networks_, name, &Network::name);
  if (found == networks_.end()) return 0;
  const auto left = std::chrono::duration_cast<milliseconds>(found->forgotten_at - now);
  const int attempts = left.count() <= 0 ? 0 : static_cast<int>((left + kRemembered - milliseconds(1)) / kRemembered);
  // Unknown peers may have the same address, as on loopback and behind a router.
  return found->welcome_until > now && attempts < kWelcomeAttempts ? -1 : attempts;
}

size_t Admission::heard_count() const {
  return static_cast<size_t>(
      std::ranges::count_if(guests_, [](const Guest& each) { return each.heard_since.has_value(); }));
}

const Admission::Guest* Admission::choose(bool is_heard, bool has_least, Time now) {
  const Guest* chosen = nullptr;
  int best = 0;
  uint32_t equals = 0;
  for (const Guest& each : guests_) {
    if (each.heard_since.has_value() != is_heard) continue;
    const int own = debt(each.network, now) * (has_least ? 1 : -1);
    if (chosen != nullptr && own > best) continue;
    equals = chosen != nullptr && own == best ? equals + 1 : 1;
    best = own;
    if (equals == 1 || random_() % equals == 0) chosen = &each;
  }
  return chosen;
}

const Admission::Guest* Admission::heard_for_long(Time now) const {
  const auto found = std::ranges::find_if(
      guests_, [&](const Guest& each) { return each.heard_since && now - *each.heard_since >= kHeardAlone; });
  return found == guests_.end() ? nullptr : &*found;
}

std::optional<Admission::Id> Admission::add(Id id, const std::string& name, Time now) {
  guests_.push_back({.id = id, .network = name});
  if (guests_.size() - heard_count() <= kMaxWaiting) return std::nullopt;
  // Only waiting connections count: of networks with the same debt the one with the most.
  const Guest* goes = nullptr;
  std::pair<int, size_t> most{};
  for (const Guest& each : guests_) {
    if (each.heard_since) continue;
    const auto same = static_cast<size_t>(std::ranges::count(guests_, each.network, &Guest::network));
    const std::pair weight{debt(each.network, now), same};
    if (goes != nullptr && (weight < most || (weight == most && random_() % 2 == 0))) continue;
    goes = &each;
    most = weight;
  }
  const Id gone = goes->id;
  left(gone);
  return gone;
}

std::optional<Admission::Turn> Admission::next(Time now) {
  const Guest* const candidate = choose(false, true, now);
  if (candidate == nullptr) return std::nullopt;
  const bool is_welcome = debt(candidate->network, now) < 0;
  if (!is_welcome && all_forgotten_at_ > now + (kAllAtOnce - 1) * kAllInterval) return std::nullopt;
  Turn turn{.heard = candidate->id, .goes = {}};
  const std::string name = candidate->network;
  if (heard_count() >= kMaxHeard) {
    const Guest* goes = choose(true, false, now);
    if (debt(goes->network, now) <= debt(name, now)) goes = heard_for_long(now);
    if (goes == nullptr) return std::nullopt;
    turn.goes = goes->id;
    left(goes->id);
  }
  std::ranges::find(guests_, turn.heard, &Guest::id)->heard_since = now;
  Network& from = network(name, now);
  from.forgotten_at = std::max(from.forgotten_at, now) + kRemembered;
  all_forgotten_at_ = std::max(all_forgotten_at_, now) + kAllInterval;
  return turn;
}

void Admission::succeeded(Id id, Time now) {
  const auto found = std::ranges::find(guests_, id, &Guest::id);
  if (found == guests_.end()) return;
  Network& from = network(found->network, now);
  from.forgotten_at -= kRemembered;
  from.welcome_until = now + kWelcome;
  all_forgotten_at_ -= kAllInterval;
  guests_.erase(found);
}

void Admission::left(Id id) {
  std::erase_if(guests_, [&](const Guest& each) { return each.id == id; });
}

std::optional<Admission::Time> Admission::deadline() const {
  if (guests_.size() == heard_count()) return std::nullopt;
  Time first = all_forgotten_at_ - (kAllAtOnce - 1) * kAllInterval;
  if (heard_count() < kMaxHeard) return first;
  Time oldest = Time::max();
  for (const Guest& each : guests_) {
    if (each.heard_since) oldest = std::min(oldest, *each.heard_since);
  }
  return std::max(first, oldest + kHeardAlone);
}

}  // namespace heaptap::channel
