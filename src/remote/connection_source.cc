#include "remote/connection_source.h"

namespace heaptap::remote {
namespace {

constexpr std::chrono::seconds kTryEvery{2};

}  // namespace

std::optional<channel::Connection> Acceptor::next(bool /*is_alone*/, TimePoint /*now*/) { return listener_.next(); }

std::vector<LineNews> Acceptor::take_news() {
  std::vector<LineNews> news;
  while (const auto failed = listener_.next_failed())
    news.push_back({LineNews::Kind::kRefused, failed->why, failed->peer, failed->others});
  return news;
}

void Connector::add_waits(std::vector<pollfd>& /*waits*/) const {}
void Connector::proceed(TimePoint /*now*/) {}

std::optional<channel::Connection> Connector::next(bool is_alone, TimePoint now) {
  if (!is_alone || now < next_try_) return std::nullopt;
  next_try_ = now + kTryEvery;
  auto made = channel::Connection::connect(address_, security_, {}, now);
  return made ? std::optional(*std::move(made)) : std::nullopt;
}

}  // namespace heaptap::remote
