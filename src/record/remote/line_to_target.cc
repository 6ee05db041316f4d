#include "record/remote/line_to_target.h"

#include <algorithm>
#include <utility>

#include "common/base/intervals.h"
#include "common/base/safe_text.h"
#include "common/channel/failure.h"
#include "common/line/line_messages.h"

namespace heaptap::remote {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMaxKeptRequestBytes = size_t{1} << 20;  // requests are few and short
constexpr std::chrono::milliseconds kShortestPause{100};

}  // namespace

LineToTarget::LineToTarget(std::string name, std::vector<channel::Address> addresses, channel::Security security)
    : name_(std::move(name)),
      addresses_(std::move(addresses)),
      security_(std::move(security)),
      link_(kMaxKeptRequestBytes) {}

LineToTarget::LineToTarget(std::string name, channel::Listener listener)
    : name_(std::move(name)), listener_(std::move(listener)), link_(kMaxKeptRequestBytes) {}

LineToTarget::LineToTarget(std::string name, uplink::RecordingFileReader file)
    : name_(std::move(name)), file_(std::move(file)), link_(kMaxKeptRequestBytes) {
  link_.set_up();
}

void LineToTarget::add_waits(std::vector<pollfd>& waits) const {
  if (file_) return file_->add_waits(waits);
  if (listener_) listener_->add_waits(waits);
  if (teller_ != nullptr) teller_->add_waits(waits);
  link_.add_waits(waits);
}

void LineToTarget::accept_connection(line::TimePoint now) {
  listener_->proceed(now);
  while (const auto failed = listener_->next_failed())
    news_.push_back({line::LineNews::Kind::kRefused, failed->why, failed->peer});
  auto connection = listener_->next();
  // The latest connection: an older one may be half open without notice.
  if (connection) link_.take(*std::move(connection), true, now);
}

void LineToTarget::begin_connection(line::TimePoint now) {
  next_try_ = now + pause_;
  pause_ = std::min(pause_ * 2, base::intervals().retry);
  const channel::Address& address = addresses_[next_address_++ % addresses_.size()];
  auto connection = channel::Connection::connect(address, security_, {}, now);
  if (connection) return link_.take(*std::move(connection), true, now);
  link_.drop(connection.error().message);
}

void LineToTarget::judge(line::TimePoint now) {
  line::ReliableLine& line = link_.line();
  if (!line.refusal().empty()) {
    is_over_ = true;
    why_over_ = base::safe_text(line.refusal());
    return link_.drop(std::string(why_over_));
  }
  if (link_.is_up() || !line.greeting()) return;
  if (line.session().empty()) line.set_session(line.greeting()->session);
  if (line.greeting()->session != line.session() || !line.resume()) {
    is_over_ = true;
    link_.drop("another recording is running there");
    why_over_ = link_.why_down();
    return;
  }
  link_.set_up();
  pause_ = kShortestPause;
  next_try_ = now;
  if (was_up_) news_.push_back({line::LineNews::Kind::kBack});
  was_up_ = true;
}

// At most the amount that recordings accept in one round.
void LineToTarget::read_file() {
  constexpr int kMaxMessages = 64;
  for (int i = 0; i < kMaxMessages; ++i) {
    auto message = file_->next();
    if (message) {
      is_whole_ |= message->kind == line::Kind::kAllEnded;
      link_.line().deliver(*std::move(message));
      continue;
    }
    is_over_ = true;
    why_over_ = file_->why_over();
    if (why_over_.empty() && !is_whole_) why_over_ = base::make_error("it ends before the recording did").message;
    return;
  }
}

void LineToTarget::proceed(line::TimePoint now) {
  if (is_over_) return;
  if (file_) return read_file();
  const bool was_up = link_.is_up();
  if (teller_ != nullptr) teller_->serve(!was_up);
  link_.proceed(now);
  judge(now);
  // One of several addresses may belong to another machine; and one that was right before may be right again.
  if (link_.is_stranger() && !was_up_ && addresses_.size() == 1) {
    is_over_ = true;
    why_over_ = link_.why_down();
  }
  if (was_up && !link_.is_up() && !is_over_) {
    news_.push_back({line::LineNews::Kind::kLost, link_.why_down()});
  }
  if (is_over_) return;
  if (listener_) {
    accept_connection(now);
  } else if (!link_.has_connection() && now >= next_try_) {
    begin_connection(now);
  }
}

void LineToTarget::say_farewell() {
  if (file_) return;
  constexpr std::chrono::seconds kLastWords{2};
  link_.line().send(line::message_of(line::Kind::kFarewell));
  link_.flush(Clock::now() + kLastWords);
}

base::Result<> LineToTarget::connect(std::chrono::nanoseconds most) {
  const line::TimePoint until = Clock::now() + std::chrono::duration_cast<Clock::duration>(most);
  while (!link_.is_up()) {
    if (is_over_) return base::fail("can't connect to {}: {}", name_, why_over_);
    if (Clock::now() >= until) {
      const std::string why = link_.why_down().empty() ? "no answer" : link_.why_down();
      if (channel::names_peer(why)) {
        return base::fail("{}; on the target `heaptap-target serve` waits for a host", why);
      }
      return base::fail("can't connect to {}: {}; on the target `heaptap-target serve` waits for a host", name_, why);
    }
    std::vector<pollfd> waits;
    add_waits(waits);
    poll(waits.data(), waits.size(), line::kPauseMs);
    proceed(Clock::now());
  }
  return {};
}

}  // namespace heaptap::remote
