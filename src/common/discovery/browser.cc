#include "common/discovery/browser.h"

#include <algorithm>
#include <utility>

#include "common/base/clock.h"

namespace heaptap::discovery {
namespace {

constexpr uint64_t kBrowserLookPauseNs = kSecond;  // for interfaces that appear later, while a user waits
constexpr size_t kMaxBrowserPackets = 256;         // in one round: further ones wait in the socket

}  // namespace

base::Result<Browser> Browser::create(ServiceKind kind) {
  auto sockets = MulticastSockets::open(PortChoice::kMulticastOrAny);
  if (!sockets) return std::unexpected(std::move(sockets).error());
  Browser browser(*std::move(sockets), kind);
  browser.serve();
  return browser;
}

uint64_t Browser::next_deadline() const {
  return std::min(next_look_ns_, querier_.next_deadline(base::clock_ns(CLOCK_MONOTONIC)));
}

void Browser::serve() {
  const uint64_t now_ns = base::clock_ns(CLOCK_MONOTONIC);
  if (next_look_ns_ <= now_ns) {
    next_look_ns_ = now_ns + kBrowserLookPauseNs;
    // A service of this machine may have only loopback to announce on.
    querier_.set_links(links_of_machine(Where::kNetworkAndLoopback), now_ns);
    sockets_.join(querier_.links());
  }
  for (size_t taken = 0; taken < kMaxBrowserPackets; ++taken) {
    const auto packet = sockets_.receive();
    if (!packet) break;
    querier_.take(*packet, now_ns);
  }
  for (const Packet& packet : querier_.due(now_ns)) sockets_.send(packet);
}

bool Browser::serve_until(uint64_t end_ns) {
  constexpr uint64_t kMaxPollNs = 60 * kSecond;
  const uint64_t now_ns = base::clock_ns(CLOCK_MONOTONIC);
  if (now_ns >= end_ns) return false;
  const uint64_t next_ns = std::min({next_deadline(), end_ns, now_ns + kMaxPollNs});
  const uint64_t wait_ns = next_ns - std::min(now_ns, next_ns);
  std::vector<pollfd> waits;
  add_waits(waits);
  (void)poll(waits.data(), waits.size(), static_cast<int>((wait_ns + kMillisecond - 1) / kMillisecond));
  serve();
  return true;
}

}  // namespace heaptap::discovery
