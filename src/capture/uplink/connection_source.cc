#include "capture/uplink/connection_source.h"

#include <chrono>

#include "common/base/intervals.h"
#include "common/channel/failure.h"

namespace heaptap::uplink {

std::optional<channel::Connection> Acceptor::next(bool /*is_alone*/, line::TimePoint /*now*/) {
  return listener_.next();
}

std::vector<line::LineNews> Acceptor::take_news() {
  std::vector<line::LineNews> news;
  while (const auto failed = listener_.next_failed())
    news.push_back({line::LineNews::Kind::kRefused, failed->why, failed->peer, failed->others});
  return news;
}

Connector::Connector(channel::Address address, channel::Security security, std::unique_ptr<AddressFinder> finder)
    : name_(address.to_text()), security_(std::move(security)), finder_(std::move(finder)) {
  if (finder_ == nullptr) addresses_.push_back(std::move(address));
}

void Connector::add_waits(std::vector<pollfd>& waits) const {
  if (is_looked_up_) finder_->add_waits(waits);
}

void Connector::proceed(line::TimePoint now) {
  if (!is_looked_up_) return;
  auto found = finder_->proceed(now);
  if (!found) return;
  is_looked_up_ = false;
  if (*found) {
    addresses_ = **std::move(found);
    next_try_ = now;
  } else {
    note_failure(found->error().message, now);
  }
}

// Tries all addresses of a name in turn, then looks the name up again: its addresses may have changed.
std::optional<channel::Connection> Connector::next(bool is_alone, line::TimePoint now) {
  if (!is_alone || is_looked_up_ || now < next_try_) return std::nullopt;
  next_try_ = now + base::intervals().retry;
  if (addresses_.empty()) {
    is_looked_up_ = true;
    finder_->begin(now);
    return std::nullopt;
  }
  tried_ = addresses_.front();
  if (finder_ != nullptr) addresses_.erase(addresses_.begin());
  auto made = channel::Connection::connect(*tried_, security_, {}, now);
  if (made) return *std::move(made);
  note_failure(made.error().message, now);
  return std::nullopt;
}

void Connector::note_failure(const std::string& why, line::TimePoint now) {
  constexpr std::chrono::minutes kRest{1};
  const std::string peer = tried_ && finder_ != nullptr ? name_ + " (" + tried_->to_text() + ")" : name_;
  std::string text = channel::names_peer(why) ? why : peer + ": " + why;
  if (text == told_ && now - told_at_ < kRest) return;
  told_at_ = now;
  told_ = std::move(text);
  news_.push_back({line::LineNews::Kind::kSaid, base::make_error("{}; trying again", told_).message});
}

}  // namespace heaptap::uplink
