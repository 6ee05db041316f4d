#include "common/line/reliable_line.h"

#include <algorithm>
#include <utility>

#include "common/line/line_messages.h"
#include "common/message/common_messages.h"

namespace heaptap::line {
namespace {

using message::CommonKind;
using message::Message;

// So that the other end needn't keep much: received messages are confirmed at the latest after this many.
constexpr size_t kReportEveryBytes = size_t{64} << 10;
constexpr std::chrono::milliseconds kReportEvery{50};

}  // namespace

void ReliableLine::send(const Message& message) {
  kept_.push_back(encode(message));
  kept_bytes_ += kept_.back().size();
}

std::optional<Message> ReliableLine::next() {
  if (arrived_.empty()) return std::nullopt;
  Message message = std::move(arrived_.front());
  arrived_.pop_front();
  return message;
}

void ReliableLine::begin(TimePoint now) {
  is_connected_ = true;
  is_resumed_ = false;
  is_sound_ = true;
  said_hello_ = false;
  greeting_.reset();
  reader_ = message::MessageReader(kMaxMessageBytes);
  refusal_.clear();
  urgent_.clear();
  next_unsent_ = 0;
  claimed_ = 0;
  heard_at_ = said_at_ = reported_at_ = now;
}

void ReliableLine::begin(const Greeting& greeting, TimePoint now) {
  begin(now);
  said_hello_ = true;
  greeting_ = greeting;
}

void ReliableLine::refuse(std::string_view why) {
  urgent_ += encode(message::hello());
  urgent_ += encode(refusal_of_line(why));
}

void ReliableLine::greet() {
  Resume resume{.session = session_, .received = received_};
  if (takes_over_ && session_.empty()) {
    resume.takes_over = by_force_ ? kTakeOverByForce : kTakeOver;
    resume.process = process_;
  }
  urgent_ += encode(message::hello());
  urgent_ += encode(message_of(resume));
  reported_ = received_;
  unreported_bytes_ = 0;
}

void ReliableLine::forget_other_end() {
  received_ = claimed_ = reported_ = 0;
  unreported_bytes_ = 0;
  arrived_.clear();
}

void ReliableLine::end() {
  is_connected_ = is_resumed_ = false;
  greeting_.reset();
}

bool ReliableLine::resume() {
  if (!greeting_ || !confirm(std::max(greeting_->received, claimed_))) return false;
  next_unsent_ = 0;
  return is_resumed_ = true;
}

// The other end has received this many messages.
bool ReliableLine::confirm(uint64_t received) {
  if (received < first_kept_ || received - first_kept_ > kept_.size()) return false;
  for (; first_kept_ < received; ++first_kept_) {
    kept_bytes_ -= kept_.front().size();
    kept_.pop_front();
    if (next_unsent_ > 0) --next_unsent_;
  }
  return true;
}

bool ReliableLine::take_greeting(const Message& message) {
  if (!said_hello_) {
    if (message.kind != CommonKind::kHello) return false;
    greeting_.reset();
    said_hello_ = true;
    const message::Version version = message::decode_hello(message.fields);
    pending_.major = version.major;
    pending_.minor = version.minor;
    // Another major version says the rest in its own way.
    if (pending_.major != message::kMajorVersion) greeting_ = pending_;
    return true;
  }
  if (message.kind == CommonKind::kRefusal) refusal_ = message::decode_refusal(message.fields).message;
  if (message.kind != Kind::kResume) return message.kind == CommonKind::kRefusal;
  Resume resume = decode_resume(message.fields);
  pending_.session = std::move(resume.session);
  if (!pending_.session.empty() && pending_.session.size() != kSessionBytes) return false;
  pending_.received = resume.received;
  pending_.takes_over = resume.takes_over != kNoTakeOver;
  pending_.by_force = resume.takes_over == kTakeOverByForce;
  pending_.process = resume.process;
  greeting_ = pending_;
  return true;
}

void ReliableLine::receive(std::string_view bytes, TimePoint now) {
  if (!bytes.empty()) heard_at_ = now;
  reader_.add(bytes);
  while (is_sound_) {
    const size_t before = reader_.waiting_bytes();
    std::optional<Message> message = reader_.next();
    if (!message) return;
    if (!greeting_) {
      is_sound_ = take_greeting(*message);
      continue;
    }
    if (message->kind == CommonKind::kHello) {
      is_sound_ = false;
      return;
    }
    switch (message->kind.as<Kind>()) {
      case Kind::kHeartbeat:
        break;
      case Kind::kReceived:
        claimed_ = decode_received(message->fields).messages;
        is_sound_ = !is_resumed_ || confirm(claimed_);
        break;
      case Kind::kResume:
        is_sound_ = false;
        break;
      default:
        ++received_;
        unreported_bytes_ += before - reader_.waiting_bytes();
        arrived_.push_back(*std::move(message));
    }
  }
}

bool ReliableLine::is_report_due(TimePoint now) const {
  return received_ > reported_ && (unreported_bytes_ >= kReportEveryBytes || now - reported_at_ >= kReportEvery);
}

bool ReliableLine::has_outgoing(TimePoint now) const {
  if (!is_connected_) return false;
  if (!urgent_.empty()) return true;
  return is_resumed_ &&
         (next_unsent_ < kept_.size() || is_report_due(now) || now - said_at_ >= base::intervals().heartbeat);
}

std::string ReliableLine::take_outgoing(size_t most, TimePoint now) {
  std::string bytes = std::exchange(urgent_, {});
  if (is_resumed_) {
    if (is_report_due(now)) {
      bytes += encode(message_of(Received{.messages = received_}));
      reported_ = received_;
      reported_at_ = now;
      unreported_bytes_ = 0;
    }
    while (bytes.size() < most && next_unsent_ < kept_.size()) bytes += kept_[next_unsent_++];
    if (bytes.empty() && now - said_at_ >= base::intervals().heartbeat) {
      bytes = encode(message_of(Kind::kHeartbeat));
    }
  }
  if (!bytes.empty()) said_at_ = now;
  return bytes;
}

}  // namespace heaptap::line
