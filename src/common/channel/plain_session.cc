#include "common/channel/plain_session.h"

#include <array>
#include <cerrno>
#include <string>

#include "common/channel/failure.h"

namespace heaptap::channel {
namespace {

base::Error why_not_plain(uint8_t first, Role role) {
  if (first == kTlsHandshake || first == kTlsAlert) {
    return make_error(
        {"the other side has a token and requires encryption, this side has none: give both the same token"});
  }
  return why_no_greeting(role);
}

base::Error why_hung_up(const Transfer& got) {
  const bool is_hung_up = got.outcome == Transfer::Outcome::kEnded || got.error_number == ECONNRESET;
  if (!is_hung_up) return why_broken(got.error_number);
  return make_error(
      {"the other side closed the connection before it identified itself: it may serve other users only, have too many "
       "connections, or block new ones for a while after failed attempts"});
}

}  // namespace

void PlainSession::greet(ByteStream& stream) {
  say_greeting(stream);
  std::array<uint8_t, kPlainGreeting.size()> piece{};
  while (state() == State::kGreeting && heard_bytes_ < kPlainGreeting.size()) {
    const Transfer got = stream.receive(std::span(piece).first(kPlainGreeting.size() - heard_bytes_));
    if (got.outcome == Transfer::Outcome::kLater) return;
    if (got.outcome == Transfer::Outcome::kDone) {
      hear(std::span(piece).first(got.bytes));
    } else {
      set_failed(why_hung_up(got));
    }
  }
  if (state() != State::kGreeting || heard_bytes_ < kPlainGreeting.size()) return;
  if (is_unheard()) return set_failed(why_hung_up({.outcome = Transfer::Outcome::kEnded}));
  if (outgoing_bytes() == 0) set_state(State::kReady);
}

void PlainSession::say_greeting(ByteStream& stream) {
  while (outgoing_bytes() > 0 && state() == State::kGreeting && !is_unheard()) {
    const std::string_view rest = kPlainGreeting.substr(said_bytes_);
    const Transfer sent = stream.send({reinterpret_cast<const uint8_t*>(rest.data()), rest.size()});
    if (sent.outcome == Transfer::Outcome::kBroken) set_unheard();
    if (sent.outcome != Transfer::Outcome::kDone) return;
    said_bytes_ += sent.bytes;
  }
}

void PlainSession::hear(std::span<const uint8_t> bytes) {
  for (const uint8_t byte : bytes) {
    if (byte != static_cast<uint8_t>(kPlainGreeting[heard_bytes_])) {
      set_failed(why_not_plain(heard_bytes_ == 0 ? byte : 0, role_));
      return;
    }
    ++heard_bytes_;
  }
}

void PlainSession::write(ByteStream& stream, ByteQueue& queue) {
  say_greeting(stream);
  PassingSession::write(stream, queue);
}

}  // namespace heaptap::channel
