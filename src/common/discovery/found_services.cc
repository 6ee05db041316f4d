#include "common/discovery/found_services.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "common/discovery/packet.h"
#include "common/discovery/service.h"

namespace heaptap::discovery {
namespace {

constexpr uint32_t kMaxTtlS = 4500;
constexpr uint64_t kGoodbyeNs = kSecond;  // RFC 6762, 10.1: until removal, so that other owners can object
constexpr uint64_t kFirstQuestionPauseNs = kSecond;
constexpr uint64_t kMaxQuestionPauseNs = 60 * kSecond;

// Without a router. For IPv4 the kernel routes directly only from an address of the same network.
bool is_sure(const Link& link, const IpAddress& address) {
  const bool goes_by_interface = address.family == Family::kIpv6 && address.is_link_local();
  return goes_by_interface || std::ranges::any_of(link.addresses, [&](const LinkAddress& own) {
           return own.address.is_near(address, own.prefix_bits);
         });
}

// The smallest is the best: surely reachable, and valid on more than one link.
auto rank_of(const Link& link, const IpAddress& address) {
  return std::tuple(address.is_loopback(), !is_sure(link, address), address.is_link_local(), address);
}

bool is_address(const Record& record) {
  return (record.type == RecordType::kA && record.data.size() == kIpv4Bytes) ||
         (record.type == RecordType::kAaaa && record.data.size() == kIpv6Bytes);
}

}  // namespace

FoundServices::Life FoundServices::Life::of(const Record& record, uint64_t now_ns) {
  const uint64_t whole_ns = record.ttl_s == 0 ? kGoodbyeNs : std::min(record.ttl_s, kMaxTtlS) * kSecond;
  return {.end_ns = now_ns + whole_ns, .whole_ns = whole_ns};
}

// Records that refer to others come first, wherever they are in the message.
void FoundServices::take(const Message& response, unsigned link, const IpAddress& sender, uint64_t now_ns) {
  for (const auto* const records : {&response.answers, &response.additionals}) {
    for (const Record& record : *records) take_instance(record, link, sender, now_ns);
  }
  for (const auto step : {&FoundServices::take_facts, &FoundServices::take_address}) {
    for (const auto* const records : {&response.answers, &response.additionals}) {
      for (const Record& record : *records) (this->*step)(record, link, now_ns);
    }
  }
  if (hosts_.size() > kMaxFoundServices) forget_hosts();
}

void FoundServices::take_instance(const Record& record, unsigned link, const IpAddress& sender, uint64_t now_ns) {
  const auto target = target_of(record);
  if (!target || record.name != type_ || !target->is_child_of(type_)) return;
  const Key key(link, target->folded());
  const auto known = instances_.find(key);
  if (known != instances_.end()) {
    known->second.life = Life::of(record, now_ns);
  } else if (record.ttl_s > 0 && make_room(link, sender)) {
    instances_.emplace(key, Instance{.name = *target,
                                     .sender = sender,
                                     .place_in_row = ++told_,
                                     .life = Life::of(record, now_ns),
                                     .place = {},
                                     .text = {}});
  }
}

bool FoundServices::make_room(unsigned link, const IpAddress& sender) {
  using Sender = std::pair<unsigned, IpAddress>;
  std::map<Sender, size_t> counts;
  for (const auto& [key, instance] : instances_) ++counts[{key.first, instance.sender}];
  const size_t own = counts[{link, sender}];
  if (own < kMaxServicesOfSender && instances_.size() < kMaxFoundServices) return true;
  has_refused_ = true;
  if (own >= kMaxServicesOfSender) return false;
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (most->second <= own + 1) return false;
  // The last reported state.
  const auto row_of = [&](const auto& entry) {
    const bool is_its = Sender(entry.first.first, entry.second.sender) == most->first;
    return is_its ? entry.second.place_in_row : 0;
  };
  instances_.erase(std::ranges::max_element(instances_, {}, row_of));
  return true;
}

void FoundServices::take_facts(const Record& record, unsigned link, uint64_t now_ns) {
  const bool is_text = record.type == RecordType::kTxt;
  const auto place = place_of(record);
  const auto instance = is_text || place ? instances_.find({link, record.name.folded()}) : instances_.end();
  if (instance == instances_.end()) return;
  if (is_text) {
    instance->second.text = {record.data, Life::of(record, now_ns)};
  } else {
    instance->second.place = {*place, Life::of(record, now_ns)};
    hosts_.try_emplace(Key(link, place->host.folded()));
  }
}

void FoundServices::take_address(const Record& record, unsigned link, uint64_t now_ns) {
  const auto host = is_address(record) ? hosts_.find({link, record.name.folded()}) : hosts_.end();
  if (host == hosts_.end()) return;
  std::vector<HeldAddress>& held = host->second;
  const Family family = record.type == RecordType::kA ? Family::kIpv4 : Family::kIpv6;
  if (record.takes_place) {
    std::erase_if(held, [&](const HeldAddress& old) {
      return old.address.family == family &&
             old.told_ns + kSecond < now_ns;  // RFC 6762, 10.2: not those of this message
    });
  }
  const HeldAddress told{IpAddress::of_data(family, record.data), Life::of(record, now_ns), now_ns};
  const auto same = std::ranges::find(held, told.address, &HeldAddress::address);
  if (same != held.end()) {
    *same = told;
  } else if (record.ttl_s > 0 && held.size() < kMaxLinkAddresses) {
    held.push_back(told);
  }
}

void FoundServices::forget(const std::vector<Link>& links, uint64_t now_ns) {
  std::erase_if(instances_, [&](const auto& entry) {
    return entry.second.life.is_over(now_ns) || find_link(links, entry.first.first) == nullptr;
  });
  has_refused_ = has_refused_ && !instances_.empty();
  for (auto& [key, instance] : instances_) {
    if (instance.place && instance.place->life.is_over(now_ns)) instance.place.reset();
    if (instance.text && instance.text->life.is_over(now_ns)) instance.text.reset();
  }
  for (auto& [key, held] : hosts_) {
    std::erase_if(held, [&](const HeldAddress& old) { return old.life.is_over(now_ns); });
  }
  forget_hosts();
}

void FoundServices::forget_hosts() {
  std::set<Key> wanted;
  for (const auto& [key, instance] : instances_) {
    if (instance.place) wanted.emplace(key.first, instance.place->fact.host.folded());
  }
  std::erase_if(hosts_, [&](const auto& entry) { return !wanted.contains(entry.first); });
}

const std::vector<FoundServices::HeldAddress>* FoundServices::addresses_of(unsigned link, const Place& place) const {
  const auto host = hosts_.find({link, place.host.folded()});
  return host == hosts_.end() ? nullptr : &host->second;
}

std::vector<FoundService> FoundServices::list(const std::vector<Link>& links) const {
  using Identity = std::tuple<std::string, std::string, uint16_t, std::string>;
  struct Entry {
    FoundService service;
    std::vector<std::pair<decltype(rank_of({}, {})), FoundAddress>> ranked;
  };
  std::map<Identity, Entry> entries;
  for (const auto& [key, instance] : instances_) {
    const Link* const link = find_link(links, key.first);
    if (!instance.place || link == nullptr) continue;
    const Place& place = instance.place->fact;
    const std::string text = instance.text ? instance.text->fact : "";
    const Identity identity(key.second, place.host.folded(), place.port, text_value(text, "id").value_or(""));
    Entry& entry = entries[identity];
    entry.service = {.name = std::string(instance.name.first_label()),
                     .host = place.host.text(),
                     .port = place.port,
                     .addresses = {},
                     .text = text};
    if (const auto* const held = addresses_of(key.first, place)) {
      for (const HeldAddress& one : *held)
        entry.ranked.push_back({rank_of(*link, one.address), {one.address, link->name}});
    }
  }
  std::vector<FoundService> services;
  for (auto& [identity, entry] : entries) {
    std::ranges::stable_sort(entry.ranked, {}, [](const auto& ranked) { return ranked.first; });
    for (auto& ranked : entry.ranked) entry.service.addresses.push_back(std::move(ranked.second));
    services.push_back(std::move(entry.service));
  }
  return services;
}

std::vector<Record> FoundServices::known_instances(unsigned link, uint64_t now_ns) const {
  std::vector<Record> known;
  for (const auto& [key, instance] : instances_) {
    if (key.first != link || !instance.life.is_new(now_ns)) continue;
    const uint64_t left_s = (instance.life.end_ns - now_ns) / kSecond;
    known.push_back(make_pointer(type_, instance.name, static_cast<uint32_t>(left_s)));
  }
  return known;
}

uint64_t FoundServices::renewal_of(unsigned link, const Instance& instance) const {
  if (!instance.place || !instance.text) return 0;
  uint64_t renewal_ns = std::min(instance.place->life.renewal_ns(), instance.text->life.renewal_ns());
  const auto* const held = addresses_of(link, instance.place->fact);
  if (held == nullptr || held->empty()) return 0;
  for (const HeldAddress& one : *held) renewal_ns = std::min(renewal_ns, one.life.renewal_ns());
  return renewal_ns;
}

std::vector<Question> FoundServices::questions_of(unsigned link, const Instance& instance, uint64_t now_ns) const {
  const auto is_due = [&](const auto& held) { return held.life.renewal_ns() <= now_ns; };
  std::vector<Question> questions;
  if (!instance.place || is_due(*instance.place)) questions.push_back({instance.name, RecordType::kSrv});
  if (!instance.text || is_due(*instance.text)) questions.push_back({instance.name, RecordType::kTxt});
  const auto* const held = instance.place ? addresses_of(link, instance.place->fact) : nullptr;
  if (held != nullptr && (held->empty() || std::ranges::any_of(*held, is_due))) {
    questions.push_back({instance.place->fact.host, RecordType::kA});
    questions.push_back({instance.place->fact.host, RecordType::kAaaa});
  }
  return questions;
}

std::vector<Question> FoundServices::missing(unsigned link, uint64_t now_ns) {
  std::vector<Question> missing;
  for (auto& [key, instance] : instances_) {
    if (key.first != link) continue;
    if (renewal_of(link, instance) > now_ns) {
      instance.question_pause_ns = 0;
      instance.next_question_ns = 0;
    } else if (instance.next_question_ns <= now_ns) {
      std::ranges::move(questions_of(link, instance, now_ns), std::back_inserter(missing));
      instance.question_pause_ns =
          std::clamp(2 * instance.question_pause_ns, kFirstQuestionPauseNs, kMaxQuestionPauseNs);
      instance.next_question_ns = now_ns + instance.question_pause_ns;
    }
  }
  return missing;
}

uint64_t FoundServices::next_deadline(uint64_t now_ns) const {
  uint64_t next_ns = kNever;
  for (const auto& [key, instance] : instances_) {
    const uint64_t question_ns = std::max(renewal_of(key.first, instance), instance.next_question_ns);
    const uint64_t place_end_ns = instance.place ? instance.place->life.end_ns : kNever;
    next_ns = std::min({next_ns, instance.life.end_ns, place_end_ns, std::max(question_ns, now_ns)});
  }
  return next_ns;
}

}  // namespace heaptap::discovery
