#include "common/discovery/querier.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "common/discovery/service.h"

namespace heaptap::discovery {
namespace {

constexpr uint64_t kFirstPauseNs = kSecond;  // RFC 6762, 5.2
constexpr uint64_t kMaxPauseNs = 60 * kSecond;
constexpr size_t kMaxQuestions = 16;  // of names of any length: they fit into the largest message
constexpr size_t kMaxKnownAnswers = 30;

// In as many messages as necessary: all but the last one announce more (RFC 6762, 7.2).
std::vector<std::string> ask_who_is_there(ServiceKind kind, bool wants_unicast, std::span<const Record> known) {
  std::vector<std::string> messages;
  Message message;
  message.questions.push_back({.name = service_type(kind), .type = RecordType::kPtr, .wants_unicast = wants_unicast});
  do {
    const auto piece = known.first(std::min(known.size(), kMaxKnownAnswers));
    known = known.subspan(piece.size());
    message.answers.assign(piece.begin(), piece.end());
    message.is_truncated = !known.empty();
    messages.push_back(write_message(message));
    message.questions.clear();
  } while (!known.empty());
  return messages;
}

std::vector<std::string> ask_for(std::span<const Question> questions) {
  std::vector<std::string> messages;
  while (!questions.empty()) {
    const auto piece = questions.first(std::min(questions.size(), kMaxQuestions));
    questions = questions.subspan(piece.size());
    Message message;
    message.questions.assign(piece.begin(), piece.end());
    messages.push_back(write_message(message));
  }
  return messages;
}

}  // namespace

void Querier::set_links(std::vector<Link> links, uint64_t now_ns) {
  if (links == links_) return;
  links_ = std::move(links);
  next_question_ns_ = now_ns;
  question_pause_ns_ = 0;
}

void Querier::take(const Packet& packet, uint64_t now_ns) {
  const Link* const link = find_link(links_, packet.channel.link);
  if (link == nullptr || !packet.peer || packet.peer->port != kMulticastPort || !link->reaches(packet.peer->address))
    return;
  const auto message = read_message(packet.bytes);
  if (message && message->is_response) found_.take(*message, link->index, packet.peer->address, now_ns);
}

std::vector<Packet> Querier::due(uint64_t now_ns) {
  found_.forget(links_, now_ns);
  const bool asks_who = next_question_ns_ <= now_ns;
  std::vector<Packet> packets;
  for (const Link& link : links_) {
    std::vector<std::string> messages = ask_for(found_.missing(link.index, now_ns));
    if (asks_who) {
      std::ranges::move(ask_who_is_there(kind_, question_pause_ns_ == 0, found_.known_instances(link.index, now_ns)),
                        std::back_inserter(messages));
    }
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      if (!link.has(family)) continue;
      for (const std::string& message : messages) packets.push_back({{link.index, family}, std::nullopt, message});
    }
  }
  if (asks_who) {
    question_pause_ns_ = std::clamp(2 * question_pause_ns_, kFirstPauseNs, kMaxPauseNs);
    next_question_ns_ = now_ns + question_pause_ns_;
  }
  return packets;
}

uint64_t Querier::next_deadline(uint64_t now_ns) const {
  return std::min(next_question_ns_, found_.next_deadline(now_ns));
}

}  // namespace heaptap::discovery
