// Multicast DNS responder of the announcer, as a state machine without I/O: input are packets and the time, output are
// packets (RFC 6762, 6 to 10). On each channel:
//
//   probe ▸ 250 ms ▸ probe ▸ 250 ms ▸ probe ▸ 250 ms ▸ announcement ▸ 1 s ▸ announcement ▸ settled: answers questions
//     ▲ name conflict: takes another name                   │              │              │
//     └───────────────────────────────── a conflicting record is received ───┴──────────────┘
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/discovery/own_records.h"
#include "common/discovery/packet.h"

namespace heaptap::discovery {

// All times: nanoseconds of one monotonic clock.
class Responder {
 public:
  // `host`: the machine's name; `seed`: for random delays that keep machines from answering simultaneously.
  Responder(Service service, std::string_view host, uint64_t seed);

  // Sets the machine's current links.
  void set_links(std::vector<Link> links, uint64_t now_ns);
  void set_program(std::string_view program, uint64_t now_ns);
  // Processes a received packet, from any sender.
  void take(const Packet& packet, uint64_t now_ns);
  // Packets to send by now.
  std::vector<Packet> due(uint64_t now_ns);
  // Time when `due` has the next packet, if none is received; or kNever.
  [[nodiscard]] uint64_t next_deadline() const;
  // Goodbye packets, to be sent at the end.
  [[nodiscard]] std::vector<Packet> goodbye() const;

  [[nodiscard]] std::string name() const { return own_.instance_label(); }
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  // Whether the service is reachable on one of the links.
  [[nodiscard]] bool speaks() const { return !presences_.empty(); }

 private:
  // Multicast answer on a channel.
  struct Answer {
    uint64_t due_ns = kNever;
    uint64_t sent_ns = 0;           // last time
    std::optional<Endpoint> asker;  // none: several
  };
  struct Presence {
    Channel channel;
    unsigned said = 0;  // number of probes and announcements sent
    uint64_t next_ns = 0;
    std::array<Answer, kPartCount> answers{};

    [[nodiscard]] bool is_established() const;
    Answer& answer(Part part) { return answers[static_cast<size_t>(part)]; }
  };

  Presence* find(const Channel& channel);
  const Link& link_of(const Presence& presence) const;
  [[nodiscard]] bool is_own(const IpAddress& address) const;

  void take_query(Presence& presence, const Message& query, const Endpoint& asker, uint64_t now_ns);
  void take_response(const Presence& presence, const Message& response, const Endpoint& sender, uint64_t now_ns);
  [[nodiscard]] bool is_elsewhere(const Record& place, const Endpoint& sender) const;
  // Simultaneous probe tiebreak: the lexicographically later records win (RFC 6762, 8.2).
  [[nodiscard]] bool loses_to(const Presence& presence, const Message& probe) const;
  void start_over(uint64_t now_ns);
  // Increment of the name's number after this many conflicts.
  unsigned step_after(unsigned conflicts);

  void say_next(Presence& presence, uint64_t now_ns);
  void announce_again(Presence& presence, uint64_t now_ns);
  [[nodiscard]] std::vector<Question> answered_of(const Message& query) const;
  void answer_one(const Presence& presence, const Message& query, Parts parts, const Endpoint& asker, uint64_t now_ns);
  void answer_all_later(Presence& presence, Parts parts, const Message& query, const Endpoint& asker, uint64_t now_ns);
  void send_answers(Presence& presence, uint64_t now_ns);
  void send_to_all(Presence& presence, Parts answers, Parts additionals, uint64_t now_ns);
  void send(const Channel& channel, const std::optional<Endpoint>& to, const Message& message);
  bool may_answer_one(uint64_t now_ns);
  uint64_t pause(uint64_t least_ns, uint64_t max_ns);

  OwnRecords own_;
  std::vector<Link> links_;
  std::vector<Presence> presences_;
  std::vector<Packet> outgoing_;
  uint64_t random_;
  // Rate counter: limits the effect of other senders.
  struct Count {
    uint64_t since_ns = 0;
    unsigned count = 0;
    unsigned add(uint64_t now_ns, uint64_t period_ns);
  };
  Count conflicts_;
  unsigned names_taken_ = 0;  // name conflicts
  Count answers_to_one_;
};

}  // namespace heaptap::discovery
