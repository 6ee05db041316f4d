#include "common/discovery/announcer.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "common/base/clock.h"
#include "common/base/intervals.h"
#include "common/network/machine_name.h"

namespace heaptap::discovery {
namespace {

constexpr size_t kMaxAnnouncerPackets = 64;  // in one round, since the owner has other work

uint64_t random_number() {
  uint64_t number = 0;
  // Before the kernel has random numbers, as at boot, the time suffices.
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) number = base::clock_ns(CLOCK_MONOTONIC);
  return number;
}

std::string hexadecimal(uint64_t number) {
  std::string text;
  for (unsigned shift = 64; shift > 0; shift -= 4) text += "0123456789abcdef"[number >> (shift - 4) & 0xf];
  return text;
}

}  // namespace

base::Result<Announcer> Announcer::create(Service service, Where where) {
  auto sockets = MulticastSockets::open(PortChoice::kMulticast);
  if (!sockets) return std::unexpected(std::move(sockets).error());
  if (service.id.empty()) service.id = hexadecimal(random_number());
  return Announcer(*std::move(sockets), Responder(std::move(service), network::machine_name(), random_number()), where);
}

Announcer::Announcer(MulticastSockets sockets, Responder responder, Where where)
    : sockets_(std::move(sockets)), responder_(std::move(responder)), where_(where) {
  serve();
}

void Announcer::leave() { const Responder left = std::move(responder_); }

Announcer::~Announcer() {
  for (const Packet& packet : responder_.goodbye()) sockets_.send(packet);
}

void Announcer::add_waits(std::vector<pollfd>& waits) const { sockets_.add_waits(waits); }

uint64_t Announcer::next_deadline() const { return std::min(next_look_ns_, responder_.next_deadline()); }

void Announcer::serve() {
  const uint64_t now_ns = base::clock_ns(CLOCK_MONOTONIC);
  if (next_look_ns_ <= now_ns) look_for_links(now_ns);
  for (size_t taken = 0; taken < kMaxAnnouncerPackets; ++taken) {
    const auto packet = sockets_.receive();
    if (!packet) break;
    responder_.take(*packet, now_ns);
  }
  for (const Packet& packet : responder_.due(now_ns)) sockets_.send(packet);
}

void Announcer::look_for_links(uint64_t now_ns) {
  next_look_ns_ = now_ns + static_cast<uint64_t>(std::chrono::nanoseconds(base::intervals().links).count());
  std::vector<Link> links = links_of_machine(where_);
  if (links != responder_.links()) responder_.set_links(std::move(links), now_ns);
  sockets_.join(responder_.links());
}

void Announcer::set_program(std::string_view program) {
  responder_.set_program(program, base::clock_ns(CLOCK_MONOTONIC));
}

}  // namespace heaptap::discovery
