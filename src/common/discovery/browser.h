// Browser for services announced on the local network; used in its owner's poll() loop, in one thread:
//
//   auto browser = Browser::create();
//   for each round: browser->add_waits(waits); poll(waits, until browser->next_deadline()); browser->serve(); browser->services();
#pragma once
#include <poll.h>

#include <cstdint>
#include <vector>

#include "common/base/result.h"
#include "common/discovery/multicast_sockets.h"
#include "common/discovery/querier.h"

namespace heaptap::discovery {

class Browser {
 public:
  static base::Result<Browser> create(ServiceKind kind = ServiceKind::kTarget);

  void add_waits(std::vector<pollfd>& waits) const { sockets_.add_waits(waits); }
  // In nanoseconds of CLOCK_MONOTONIC.
  [[nodiscard]] uint64_t next_deadline() const;
  // Sends due questions, and receives answers. Never waits.
  void serve();
  // Serves it until there may be news; false: until the end, in nanoseconds of CLOCK_MONOTONIC.
  bool serve_until(uint64_t end_ns);

  // Services known so far, by name.
  [[nodiscard]] std::vector<FoundService> services() const { return querier_.services(); }
  // Whether kMaxFoundServices was reached: further ones are ignored.
  [[nodiscard]] bool is_full() const { return querier_.is_full(); }

 private:
  Browser(MulticastSockets sockets, ServiceKind kind) : sockets_(std::move(sockets)), querier_(kind) {}

  MulticastSockets sockets_;
  Querier querier_;
  uint64_t next_look_ns_ = 0;
};

}  // namespace heaptap::discovery
