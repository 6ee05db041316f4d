#include "remote/connection_source.h"

#include "base/intervals.h"

namespace heaptap::remote {

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
  next_try_ = now + base::intervals().retry;
  auto made = channel::Connection::connect(address_, security_, {}, now);
  return made ? std::optional(*std::move(made)) : std::nullopt;
}

}  // namespace heaptap::remote
