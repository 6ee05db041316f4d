// The side that looks for services, as a machine that packets and the time go into, and packets come out of: who is there (at once,
// with answers to this machine alone, then after 1, 2, 4, … seconds, with answers to all), and what isn't known of those who said so.
#pragma once
#include <cstdint>
#include <vector>

#include "discovery/found_services.h"
#include "discovery/packet.h"

namespace heaptap::discovery {

class Seeker {
 public:
  explicit Seeker(ServiceKind kind = ServiceKind::kTarget) : kind_(kind), found_(kind) {}

  void set_links(std::vector<Link> links, uint64_t now_ns);
  void take(const Packet& packet, uint64_t now_ns);
  // What is to be sent by now.
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
  uint64_t question_pause_ns_ = 0;  // until the next; 0: nobody was asked yet
};

}  // namespace heaptap::discovery
