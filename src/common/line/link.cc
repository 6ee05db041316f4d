#include "common/line/link.h"

#include <chrono>
#include <utility>

#include "common/base/intervals.h"
#include "common/line/message_fields.h"

namespace heaptap::line {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kLinkPieceBytes = size_t{64} << 10;

}  // namespace

void Link::take(channel::Connection connection, bool greets, TimePoint now) {
  connection_ = std::move(connection);
  unsent_.clear();
  is_up_ = is_refused_ = is_stranger_ = false;
  line_.begin(now);
  if (greets) line_.greet();
}

bool Link::take_over(Link& other, TimePoint now) {
  const Greeting greeting = *other.line_.greeting();
  connection_ = std::exchange(other.connection_, std::nullopt);
  unsent_.clear();
  line_.begin(greeting, now);
  line_.greet();
  return is_up_ = line_.resume();
}

void Link::refuse(std::string_view why, TimePoint now) {
  line_.refuse(why);
  send(now);
  connection_->end(now);
  is_refused_ = true;
}

void Link::drop(std::string why) {
  connection_.reset();
  line_.end();
  unsent_.clear();
  is_up_ = false;
  why_down_ = std::move(why);
}

void Link::add_waits(std::vector<pollfd>& waits) const {
  if (connection_) connection_->add_waits(waits);
}

void Link::send(TimePoint now) {
  while (connection_->room() > 0) {
    if (unsent_.empty()) unsent_ = line_.take_outgoing(kLinkPieceBytes, now);
    if (unsent_.empty()) break;
    unsent_.erase(0, connection_->write(bytes_of(unsent_)));
    connection_->flush();
  }
}

void Link::proceed(TimePoint now) {
  if (!connection_) return;
  connection_->proceed(now);
  std::vector<uint8_t> bytes;
  constexpr int kMaxPieces = 16;  // a busy peer isn't the only one to be read
  for (int i = 0; i < kMaxPieces && connection_->read(bytes) > 0; ++i) {
    line_.receive({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, now);
    bytes.clear();
  }
  if (connection_->is_ready()) send(now);
  if (!line_.is_sound()) return drop("invalid data from the other side: not heaptap's protocol");
  if (connection_->is_gone()) {
    is_stranger_ = connection_->is_refused();
    return drop(connection_->why());
  }
  if (connection_->is_ready() && line_.is_silent(now)) {
    const auto silence = std::chrono::ceil<std::chrono::seconds>(base::intervals().silence);
    drop(base::make_error("no data from there for {} s", silence.count()).message);
  }
}

void Link::flush(TimePoint until) {
  while (connection_ && Clock::now() < until && (line_.unconfirmed() > 0 || line_.has_outgoing(Clock::now()))) {
    std::vector<pollfd> waits;
    connection_->add_waits(waits);
    poll(waits.data(), waits.size(), kPauseMs);
    proceed(Clock::now());
  }
}

}  // namespace heaptap::line
