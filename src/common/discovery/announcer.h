// Announcer of a service on the local network, for `heaptap discover`; used in its owner's poll() loop, in one thread:
//
//   auto announcer = Announcer::create({.port = port, .cpu = "x86_64", .version = version});
//   for each round: announcer->add_waits(waits); poll(waits, until announcer->next_deadline()); announcer->serve();
#pragma once
#include <poll.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/discovery/multicast_sockets.h"
#include "common/discovery/responder.h"
#include "common/discovery/service.h"

namespace heaptap::discovery {

class Announcer {
 public:
  static base::Result<Announcer> create(Service service, Where where = Where::kNetwork);
  Announcer(Announcer&&) = default;
  Announcer& operator=(Announcer&&) = delete;
  // Sends goodbyes for the service.
  ~Announcer();

  void add_waits(std::vector<pollfd>& waits) const;
  // In nanoseconds of CLOCK_MONOTONIC.
  [[nodiscard]] uint64_t next_deadline() const;
  // Receives packets, and sends those due. Never waits.
  void serve();

  // Another process with a copy of this announces from now on: sends nothing any more, not even goodbyes.
  void leave();

  // What is being recorded; empty: nothing.
  void set_program(std::string_view program);
  // Name of the service, a different one after a conflict.
  [[nodiscard]] std::string name() const { return responder_.name(); }
  // Whether there is a local network on which the service is reachable.
  [[nodiscard]] bool speaks() const { return responder_.speaks(); }

 private:
  Announcer(MulticastSockets sockets, Responder responder, Where where);
  void look_for_links(uint64_t now_ns);

  MulticastSockets sockets_;
  Responder responder_;  // empty after a move: sends no goodbyes
  Where where_;
  uint64_t next_look_ns_ = 0;
};

}  // namespace heaptap::discovery
