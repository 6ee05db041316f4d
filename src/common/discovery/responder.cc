#include "common/discovery/responder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/check.h"

namespace heaptap::discovery {
namespace {

constexpr unsigned kProbes = 3;
constexpr unsigned kAnnouncements = 2;
constexpr uint64_t kProbePauseNs = 250 * kMillisecond;
constexpr uint64_t kAnnouncementPauseNs = kSecond;
constexpr uint64_t kLostPauseNs = kSecond;  // until the winner of two probing machines has the name

// RFC 6762, 8.1: after this many conflicts probe slowly.
constexpr unsigned kMaxQuickConflicts = 15;
constexpr uint64_t kConflictPeriodNs = 10 * kSecond;
constexpr uint64_t kPatientPauseNs = 5 * kSecond;

constexpr uint64_t kRepeatPauseNs = kSecond;              // of a record sent by multicast
constexpr uint64_t kDefencePauseNs = 250 * kMillisecond;  // the same for the answer to a probe
constexpr unsigned kMaxAnswersToOne = 100;                // a second
constexpr uint32_t kLegacyTtlS = 10;                      // RFC 6762, 6.7
constexpr uint64_t kNsPerTtlQuarter = kSecond / 4;

// Order of two sets of records, by their types and data.
using Weighed = std::vector<std::pair<RecordType, std::string_view>>;
Weighed weighed(const std::vector<Record>& records, const Name& name) {
  Weighed found;
  for (const Record& record : records) {
    if (record.name == name) found.emplace_back(record.type, record.data);
  }
  std::ranges::sort(found);
  return found;
}

IpAddress address_in(const Record& record) {
  return IpAddress::of_data(record.type == RecordType::kA ? Family::kIpv4 : Family::kIpv6, record.data);
}
bool is_of_address_type(const Record& record) {
  return record.type == RecordType::kA || record.type == RecordType::kAaaa;
}

constexpr Parts kUniqueParts = Parts::all().without(kSharedParts);

}  // namespace

bool Responder::Presence::is_established() const { return said > kProbes; }

unsigned Responder::Count::add(uint64_t now_ns, uint64_t period_ns) {
  if (now_ns - since_ns >= period_ns) *this = {.since_ns = now_ns, .count = 0};
  return ++count;
}

Responder::Responder(Service service, std::string_view host, uint64_t seed)
    : own_(std::move(service), host), random_(seed) {}

void Responder::set_links(std::vector<Link> links, uint64_t now_ns) {
  std::vector<Presence> presences;
  for (const Link& link : links) {
    if (!own_.is_reached_on(link)) continue;
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      if (!link.has(family)) continue;
      const Channel channel{link.index, family};
      Presence* const known = find(channel);
      if (known == nullptr) {
        presences.push_back({.channel = channel, .next_ns = now_ns + pause(0, kProbePauseNs)});
        continue;
      }
      if (link_of(*known) != link) announce_again(*known, now_ns);
      presences.push_back(*known);
    }
  }
  presences_ = std::move(presences);
  links_ = std::move(links);
}

void Responder::set_program(std::string_view program, uint64_t now_ns) {
  if (own_.service().program == program) return;
  own_.set_program(program);
  for (Presence& presence : presences_) announce_again(presence, now_ns);
}

void Responder::announce_again(Presence& presence, uint64_t now_ns) {
  if (!presence.is_established()) return;  // it comes to that in any case
  presence.said = kProbes;
  presence.next_ns = std::max(now_ns, presence.answer(Part::kText).sent_ns + kRepeatPauseNs);
}

Responder::Presence* Responder::find(const Channel& channel) {
  const auto found = std::ranges::find(presences_, channel, &Presence::channel);
  return found == presences_.end() ? nullptr : &*found;
}

const Link& Responder::link_of(const Presence& presence) const {
  const Link* const link = find_link(links_, presence.channel.link);
  HEAPTAP_CHECK(link != nullptr);
  return *link;
}

bool Responder::is_own(const IpAddress& address) const {
  return std::ranges::any_of(links_, [&](const Link& link) {
    return std::ranges::find(link.addresses, address, &LinkAddress::address) != link.addresses.end();
  });
}

void Responder::take(const Packet& packet, uint64_t now_ns) {
  Presence* const presence = find(packet.channel);
  if (presence == nullptr || !packet.peer || !link_of(*presence).reaches(packet.peer->address)) return;
  const auto message = read_message(packet.bytes);
  if (!message) return;
  if (!message->is_response) {
    take_query(*presence, *message, *packet.peer, now_ns);
  } else if (packet.peer->port == kMulticastPort) {
    take_response(*presence, *message, *packet.peer, now_ns);
  }
}

void Responder::take_query(Presence& presence, const Message& query, const Endpoint& asker, uint64_t now_ns) {
  if (!presence.is_established()) {
    if (!loses_to(presence, query)) return;
    presence.said = 0;
    presence.next_ns = now_ns + kLostPauseNs;
    return;
  }
  const Parts known = own_.known_among(query.answers, link_of(presence));
  // Earlier messages of this sender were the beginning of its known answers.
  for_each_part(known, [&](Part part) {
    if (presence.answer(part).asker == asker) presence.answer(part).due_ns = kNever;
  });
  Parts to_one;
  Parts to_all;
  // Unicast to port 5353 of this machine is delivered to one of the listening programs: possibly another one.
  const bool is_neighbour = asker.port == kMulticastPort && is_own(asker.address);
  for (const Question& question : query.questions) {
    const bool is_for_one = (question.wants_unicast && !is_neighbour) || asker.port != kMulticastPort;
    Parts& parts = is_for_one ? to_one : to_all;
    parts = parts.and_those(own_.answers_to(question).without(known));
  }
  if (asker.port == kMulticastPort) {
    // RFC 6762, 5.4: from time to time answers are sent by multicast, so that caches stay fresh.
    for_each_part(to_one, [&](Part part) {
      const bool is_fresh = now_ns - presence.answer(part).sent_ns < ttl_of(part) * kNsPerTtlQuarter;
      if (!is_fresh) to_all = to_all.and_those({part});
    });
  }
  answer_one(presence, query, to_one.without(to_all), asker, now_ns);
  answer_all_later(presence, to_all, query, asker, now_ns);
}

bool Responder::loses_to(const Presence& presence, const Message& probe) const {
  const std::vector<Record> own = own_.of(kUniqueParts, link_of(presence));
  const auto is_greater = [&](const Name& name) { return weighed(probe.authorities, name) > weighed(own, name); };
  const bool is_host_elsewhere = std::ranges::any_of(probe.authorities, [&](const Record& record) {
    return record.name == own_.host() && is_of_address_type(record) && !is_own(address_in(record));
  });
  return is_greater(own_.instance()) || (is_host_elsewhere && is_greater(own_.host()));
}

// For a service the SRV record shows whether it is another machine's: each has one. For a host it is an address that
// isn't this machine's; on another link it may have others.
void Responder::take_response(const Presence& presence, const Message& response, const Endpoint& sender,
                              uint64_t now_ns) {
  bool has_instance = false;
  bool has_host = false;
  for (const auto* const records : {&response.answers, &response.additionals}) {
    for (const Record& record : *records) {
      if (record.ttl_s == 0) continue;
      has_instance |= record.name == own_.instance() && is_elsewhere(record, sender);
      has_host |= record.name == own_.host() && is_of_address_type(record) && !is_own(address_in(record));
    }
  }
  if (!has_instance && !has_host) return;
  // An earlier owner of the name proves it by answering the next probe.
  if (!presence.is_established()) {
    ++names_taken_;
    if (has_instance) own_.take_next_instance(step_after(names_taken_));
    if (has_host) own_.take_next_host(step_after(names_taken_));
  }
  start_over(now_ns);
}

// Many machines that start at once with one name would each lose once for each number: they spread over increasing
// ranges.
unsigned Responder::step_after(unsigned conflicts) {
  constexpr unsigned kFactorBits = 2;
  constexpr unsigned kMaxBits = 6;
  return static_cast<unsigned>(pause(1, uint64_t{1} << std::min(kFactorBits * (conflicts - 1), kMaxBits)));
}

// This machine's own messages are looped back, possibly from before a change of its name. A service at others of its
// addresses, possibly at the same port, is another one.
bool Responder::is_elsewhere(const Record& record, const Endpoint& sender) const {
  const auto place = place_of(record);
  if (!place) return false;
  const bool is_here = is_own(sender.address) && own_.is_name_of_host(place->host);
  if (place->port == own_.service().port && is_here) return false;
  return place->port != own_.service().port || place->host != own_.host();
}

void Responder::start_over(uint64_t now_ns) {
  const bool is_patient = conflicts_.add(now_ns, kConflictPeriodNs) > kMaxQuickConflicts;
  for (Presence& presence : presences_) {
    presence.said = 0;
    presence.next_ns = now_ns + (is_patient ? kPatientPauseNs : pause(0, kProbePauseNs));
    for (Answer& answer : presence.answers) answer.due_ns = kNever;
  }
}

std::vector<Packet> Responder::due(uint64_t now_ns) {
  for (Presence& presence : presences_) {
    if (presence.next_ns <= now_ns) say_next(presence, now_ns);
    send_answers(presence, now_ns);
  }
  return std::exchange(outgoing_, {});
}

uint64_t Responder::next_deadline() const {
  if (!outgoing_.empty()) return 0;
  uint64_t next_ns = kNever;
  for (const Presence& presence : presences_) {
    next_ns = std::min(next_ns, presence.next_ns);
    for (const Answer& answer : presence.answers) next_ns = std::min(next_ns, answer.due_ns);
  }
  return next_ns;
}

void Responder::say_next(Presence& presence, uint64_t now_ns) {
  if (presence.said < kProbes) {
    // Without requesting unicast answers, since other programs listen on this machine's port, too.
    Message probe;
    for (const Name& name : {own_.instance(), own_.host()}) probe.questions.push_back({name, RecordType::kAny});
    probe.authorities = own_.of(kUniqueParts, link_of(presence));
    for (Record& record : probe.authorities) record.takes_place = false;
    send(presence.channel, std::nullopt, probe);
    presence.next_ns = now_ns + kProbePauseNs;
  } else {
    send_to_all(presence, Parts::all(), {}, now_ns);
    const bool is_last = presence.said + 1 == kProbes + kAnnouncements;
    presence.next_ns = is_last ? kNever : now_ns + kAnnouncementPauseNs;
  }
  ++presence.said;
}

// At most as many as there are kinds of answers: a long query gets no long answer.
std::vector<Question> Responder::answered_of(const Message& query) const {
  std::vector<Question> answered;
  for (const Question& question : query.questions) {
    if (answered.size() == kPartCount || own_.answers_to(question).is_empty()) continue;
    answered.push_back({.name = question.name, .type = question.type});
  }
  return answered;
}

void Responder::answer_one(const Presence& presence, const Message& query, Parts parts, const Endpoint& asker,
                           uint64_t now_ns) {
  const Link& link = link_of(presence);
  Message response{.is_response = true, .answers = own_.of(parts, link)};
  if (response.answers.empty() || !may_answer_one(now_ns)) return;
  response.additionals = own_.of(additions_to(parts), link);
  if (asker.port != kMulticastPort) {
    // Plain DNS: without the top bit of a class, and without goodbyes.
    response.id = query.id;
    response.questions = answered_of(query);
    for (auto* const records : {&response.answers, &response.additionals}) {
      for (Record& record : *records) {
        record.takes_place = false;
        record.ttl_s = std::min(record.ttl_s, kLegacyTtlS);
      }
    }
  }
  send(presence.channel, asker, response);
}

bool Responder::may_answer_one(uint64_t now_ns) { return answers_to_one_.add(now_ns, kSecond) <= kMaxAnswersToOne; }

void Responder::answer_all_later(Presence& presence, Parts parts, const Message& query, const Endpoint& asker,
                                 uint64_t now_ns) {
  const bool is_probe = !query.authorities.empty();
  uint64_t wait_ns = 0;
  if (query.is_truncated) {
    wait_ns = pause(400 * kMillisecond, 500 * kMillisecond);
  } else if (parts.has_any(kSharedParts)) {
    wait_ns = pause(20 * kMillisecond, 120 * kMillisecond);  // others answer as well
  }
  for_each_part(parts, [&](Part part) {
    Answer& answer = presence.answer(part);
    const bool is_first = answer.due_ns == kNever;
    const uint64_t free_ns = answer.sent_ns + (is_probe ? kDefencePauseNs : kRepeatPauseNs);
    answer.due_ns = std::min(answer.due_ns, std::max(now_ns + wait_ns, free_ns));
    answer.asker = is_first || answer.asker == asker ? std::optional(asker) : std::nullopt;
  });
}

void Responder::send_answers(Presence& presence, uint64_t now_ns) {
  Parts answers;
  for_each_part(Parts::all(), [&](Part part) {
    if (presence.answer(part).due_ns <= now_ns) answers = answers.and_those({part});
  });
  if (answers.is_empty()) return;
  Parts additionals;
  for_each_part(additions_to(answers), [&](Part part) {
    if (presence.answer(part).sent_ns + kRepeatPauseNs <= now_ns) additionals = additionals.and_those({part});
  });
  send_to_all(presence, answers, additionals, now_ns);
}

void Responder::send_to_all(Presence& presence, Parts answers, Parts additionals, uint64_t now_ns) {
  const Link& link = link_of(presence);
  const Message message{
      .is_response = true, .answers = own_.of(answers, link), .additionals = own_.of(additionals, link)};
  if (!message.answers.empty()) send(presence.channel, std::nullopt, message);
  for_each_part(answers.and_those(additionals), [&](Part part) { presence.answer(part).sent_ns = now_ns; });
  for_each_part(answers.and_those(additionals), [&](Part part) { presence.answer(part).due_ns = kNever; });
}

void Responder::send(const Channel& channel, const std::optional<Endpoint>& to, const Message& message) {
  outgoing_.push_back({.channel = channel, .peer = to, .bytes = write_message(message)});
}

// The host's addresses stay: another program of this machine may have announced the same ones.
std::vector<Packet> Responder::goodbye() const {
  std::vector<Packet> packets;
  for (const Presence& presence : presences_) {
    if (!presence.is_established()) continue;
    Message message{.is_response = true,
                    .answers = own_.of({Part::kInstance, Part::kPlace, Part::kText}, link_of(presence))};
    for (Record& record : message.answers) record.ttl_s = 0;
    packets.push_back({.channel = presence.channel, .peer = std::nullopt, .bytes = write_message(message)});
  }
  return packets;
}

// SplitMix64: only has to differ from machine to machine.
uint64_t Responder::pause(uint64_t least_ns, uint64_t max_ns) {
  uint64_t mixed = random_ += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return least_ns + (mixed ^ (mixed >> 31)) % (max_ns - least_ns + 1);
}

}  // namespace heaptap::discovery
