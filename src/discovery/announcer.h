// Announces a service on the local network, so that `heaptap discover` finds it; lives in its owner's poll() loop, in one thread:
//
//   auto announcer = Announcer::create({.port = port, .cpu = "x86_64", .version = version});
//   for each round: announcer->add_waits(waits); poll(waits, until announcer->next_deadline()); announcer->serve();
#pragma once
#include <poll.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "discovery/multicast_sockets.h"
#include "discovery/responder.h"
#include "discovery/service.h"

namespace heaptap::discovery {

class Announcer {
 public:
  static base::Result<Announcer> create(Service service, Where where = Where::kNetwork);
  Announcer(Announcer&&) = default;
  Announcer& operator=(Announcer&&) = delete;
  // Says that the service is no more.
  ~Announcer();

  void add_waits(std::vector<pollfd>& waits) const;
  // In nanoseconds of CLOCK_MONOTONIC.
  [[nodiscard]] uint64_t next_deadline() const;
  // Takes what came, and says what is due. Never waits.
  void serve();

  // Somebody else announces it from now on, as in another process with a copy of this: nothing is said any more, not at the end either.
  void leave();

  // What is recorded from now on; empty: nothing.
  void set_program(std::string_view program);
  // Of the service, which is another one where somebody had it already.
  [[nodiscard]] std::string name() const { return responder_.name(); }
  // There is a local network now that the service is reached on.
  [[nodiscard]] bool speaks() const { return responder_.speaks(); }

 private:
  Announcer(MulticastSockets sockets, Responder responder, Where where);
  void look_for_links(uint64_t now_ns);

  MulticastSockets sockets_;
  Responder responder_;  // moved from: it has no goodbyes
  Where where_;
  uint64_t next_look_ns_ = 0;
};

}  // namespace heaptap::discovery
