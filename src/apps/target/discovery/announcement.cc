#include "apps/target/announcement.h"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/arch/native.h"
#include "common/base/clock.h"
#include "common/discovery/announcer.h"

namespace heaptap::target {

Announcement::Announcement() = default;
Announcement::~Announcement() = default;

base::Result<> Announcement::begin(const channel::Address& address, bool has_token, bool has_begun) {
  if (address.is_file()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "--announce: a UNIX socket can be reached from this machine only; serve a port: HOST:PORT");
  }
  const auto bound = address.to_socket();
  if (!bound || address.is_loopback()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "--announce: {} can be reached from this machine only; serve 0.0.0.0:{}, or one of its "
                         "addresses that `ip addr` lists",
                         address.to_text(), address.port());
  }
  auto made = discovery::Announcer::create({.port = address.port(),
                                            .cpu = wire::name_of(arch::native::kArchitecture),
                                            .version = HEAPTAP_VERSION,
                                            .is_secure = true,
                                            .has_token = has_token,
                                            .has_begun = has_begun,
                                            .reach = network::Reach::of_socket(bound->storage)});
  if (!made) return std::unexpected(std::move(made).error());
  announcer_ = std::make_unique<discovery::Announcer>(*std::move(made));
  return {};
}

bool Announcement::is_heard() const { return announcer_ && announcer_->speaks(); }

int Announcement::longest_wait_ms(int most) const {
  if (!announcer_) return most;
  const uint64_t now_ns = base::clock_ns(CLOCK_MONOTONIC);
  const uint64_t wait_ns = announcer_->next_deadline() - std::min(now_ns, announcer_->next_deadline());
  const uint64_t wait_ms = wait_ns == 0 ? 0 : wait_ns / discovery::kMillisecond + 1;
  return static_cast<int>(std::min(wait_ms, static_cast<uint64_t>(most)));
}

void Announcement::add_waits(std::vector<pollfd>& waits) const {
  if (announcer_) announcer_->add_waits(waits);
}

void Announcement::leave() {
  if (announcer_) announcer_->leave();
  announcer_.reset();
}

void Announcement::set_program(std::string_view program) {
  if (announcer_) announcer_->set_program(program);
}

void Announcement::serve() {
  if (announcer_) announcer_->serve();
}

}  // namespace heaptap::target
