#include "discovery/browser.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace heaptap::discovery {
namespace {

constexpr uint64_t kBrowserLookPauseNs = kSecond;  // for interfaces that come later: somebody waits for it
constexpr size_t kMaxBrowserPackets = 256;         // in one round: more wait in the socket

}  // namespace

base::Result<Browser> Browser::create() {
  auto sockets = MulticastSockets::open(PortChoice::kMulticastOrAny);
  if (!sockets) return std::unexpected(std::move(sockets).error());
  Browser browser(*std::move(sockets));
  browser.serve();
  return browser;
}

uint64_t Browser::next_deadline() const {
  return std::min(next_look_ns_, seeker_.next_deadline(base::clock_ns(CLOCK_MONOTONIC)));
}

void Browser::serve() {
  const uint64_t now_ns = base::clock_ns(CLOCK_MONOTONIC);
  if (next_look_ns_ <= now_ns) {
    next_look_ns_ = now_ns + kBrowserLookPauseNs;
    // One of this machine may have nothing but loopback to announce on.
    seeker_.set_links(links_of_machine(Where::kNetworkAndLoopback), now_ns);
    sockets_.join(seeker_.links());
  }
  for (size_t taken = 0; taken < kMaxBrowserPackets; ++taken) {
    const auto packet = sockets_.receive();
    if (!packet) break;
    seeker_.take(*packet, now_ns);
  }
  for (const Packet& packet : seeker_.due(now_ns)) sockets_.send(packet);
}

}  // namespace heaptap::discovery
