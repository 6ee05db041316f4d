// Simulated network without delays: announcers and seekers on machines whose links are attached to segments. Time advances to the next
// deadline.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/discovery/packet.h"
#include "common/discovery/querier.h"
#include "common/discovery/responder.h"
#include "common/network/link.h"
#include "made_links.h"

namespace heaptap::discovery {

using network::ipv4;
using network::ipv6;
using network::made_link;
using network::only_ipv4;

class MadeNetwork {
 public:
  struct Sent {
    uint64_t time_ns = 0;
    size_t program = 0;
    Packet packet;
    Message message;
  };

  uint64_t now_ns = 1'000'000 * kSecond;
  std::vector<Sent> sent;

  Responder& announce(Service service, const std::string& host, std::vector<Link> links) {
    auto made = std::make_unique<Responder>(std::move(service), host, programs_.size());
    made->set_links(links, now_ns);
    programs_.push_back({std::move(made), nullptr, std::move(links)});
    return *programs_.back().responder;
  }
  Querier& seek(std::vector<Link> links) {
    auto made = std::make_unique<Querier>();
    made->set_links(links, now_ns);
    programs_.push_back({nullptr, std::move(made), std::move(links)});
    return *programs_.back().querier;
  }
  void set_links(size_t program, const std::vector<Link>& links) {
    Program& changed = programs_[program];
    changed.links = links;
    if (changed.responder) changed.responder->set_links(links, now_ns);
    if (changed.querier) changed.querier->set_links(links, now_ns);
  }
  // Ends the program, with or without a goodbye.
  void end(size_t program, bool says_goodbye) {
    const auto packets = says_goodbye ? programs_[program].responder->goodbye() : std::vector<Packet>();
    programs_[program].responder->set_links({}, now_ns);
    for (const Packet& packet : packets) deliver(program, packet);
    programs_[program].links.clear();
  }

  void run_for(uint64_t time_ns) {
    const uint64_t end_ns = now_ns + time_ns;
    while (true) {
      for (size_t program = 0; program < programs_.size(); ++program) {
        for (const Packet& packet : programs_[program].due(now_ns)) deliver(program, packet);
      }
      uint64_t next_ns = end_ns;
      for (const Program& program : programs_) next_ns = std::min(next_ns, program.next_deadline(now_ns));
      if (now_ns >= end_ns && next_ns >= end_ns) return;
      now_ns = std::max(next_ns, now_ns + 1000);  // a packet takes its time
    }
  }

  // Delivers a message to all machines on a segment, as if sent from `from`.
  void inject(unsigned segment, const Endpoint& from, const Message& message) {
    for (Program& program : programs_) {
      const Link* const link = find_link(program.links, segment);
      if (link == nullptr || !link->has(from.address.family)) continue;
      program.take({{segment, from.address.family}, from, write_message(message)}, now_ns);
    }
  }

  [[nodiscard]] std::vector<Sent> sent_by(size_t program) const {
    std::vector<Sent> found;
    std::ranges::copy_if(sent, std::back_inserter(found), [&](const Sent& one) { return one.program == program; });
    return found;
  }

 private:
  struct Program {
    std::unique_ptr<Responder> responder;
    std::unique_ptr<Querier> querier;
    std::vector<Link> links;

    void take(const Packet& packet, uint64_t at_ns) const {
      responder ? responder->take(packet, at_ns) : querier->take(packet, at_ns);
    }
    [[nodiscard]] std::vector<Packet> due(uint64_t at_ns) const {
      return responder ? responder->due(at_ns) : querier->due(at_ns);
    }
    [[nodiscard]] uint64_t next_deadline(uint64_t at_ns) const {
      return responder ? responder->next_deadline() : querier->next_deadline(at_ns);
    }
  };

  void deliver(size_t from, const Packet& packet) {
    sent.push_back({now_ns, from, packet, read_message(packet.bytes).value()});
    const Link* const link = find_link(programs_[from].links, packet.channel.link);
    if (link == nullptr) return;
    const auto own = std::ranges::find(link->addresses, packet.channel.family,
                                       [](const LinkAddress& one) { return one.address.family; });
    for (const Program& program : programs_) {
      const Link* const other = find_link(program.links, packet.channel.link);
      if (other == nullptr || !other->has(packet.channel.family)) continue;
      const bool is_meant = !packet.peer || std::ranges::find(other->addresses, packet.peer->address,
                                                              &LinkAddress::address) != other->addresses.end();
      if (!is_meant) continue;
      program.take({packet.channel, Endpoint{own->address, kMulticastPort}, packet.bytes}, now_ns);
      if (packet.peer) return;  // of several programs of a machine one gets it
    }
  }

  std::vector<Program> programs_;
};

}  // namespace heaptap::discovery
