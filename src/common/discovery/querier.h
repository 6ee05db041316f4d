// Querier for services, as a state machine without I/O: input are packets and the time, output are packets. Asks for instances
// (at once, with unicast answers, then after 1, 2, 4, … seconds, with multicast answers), and for their missing records.
#pragma once
#include <cstdint>
#include <vector>

#include "common/discovery/found_services.h"
#include "common/discovery/packet.h"

namespace heaptap::discovery {

class Querier {
 public:
  explicit Querier(ServiceKind kind = ServiceKind::kTarget) : kind_(kind), found_(kind) {}

  void set_links(std::vector<Link> links, uint64_t now_ns);
  void take(const Packet& packet, uint64_t now_ns);
  // Packets to send by now.
  std::vector<Packet> due(uint64_t now_ns);
  [[nodiscard]] uint64_t next_deadline(uint64_t now_ns) const;

  [[nodiscard]] std::vector<FoundService> services() const { return found_.list(links_); }
  [[nodiscard]] bool is_full() const { return found_.is_full(); }
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }

 private:
  ServiceKind kind_;
  std::vector<Link> links_;
  FoundServices found_;
  uint64_t next_question_ns_ = kNever;
  uint64_t question_pause_ns_ = 0;  // until the next question; 0: none was sent yet
};

}  // namespace heaptap::discovery
