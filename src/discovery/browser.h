// Finds the services that are announced on the local network; lives in its owner's poll() loop, in one thread:
//
//   auto browser = Browser::create();
//   for each round: browser->add_waits(waits); poll(waits, until browser->next_deadline()); browser->serve(); browser->services();
#pragma once
#include <poll.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "discovery/multicast_sockets.h"
#include "discovery/seeker.h"

namespace heaptap::discovery {

class Browser {
 public:
  static base::Result<Browser> create(ServiceKind kind = ServiceKind::kTarget);

  void add_waits(std::vector<pollfd>& waits) const { sockets_.add_waits(waits); }
  // In nanoseconds of CLOCK_MONOTONIC.
  [[nodiscard]] uint64_t next_deadline() const;
  // Asks what is to be asked, and takes what came. Never waits.
  void serve();
  // Serves it until something may be new; false: until the end, in nanoseconds of CLOCK_MONOTONIC.
  bool serve_until(uint64_t end_ns);

  // Those that are known by now, by name.
  [[nodiscard]] std::vector<FoundService> services() const { return seeker_.services(); }
  // There are more than kMaxFoundServices: the others aren't known.
  [[nodiscard]] bool is_full() const { return seeker_.is_full(); }

 private:
  Browser(MulticastSockets sockets, ServiceKind kind) : sockets_(std::move(sockets)), seeker_(kind) {}

  MulticastSockets sockets_;
  Seeker seeker_;
  uint64_t next_look_ns_ = 0;
};

}  // namespace heaptap::discovery
