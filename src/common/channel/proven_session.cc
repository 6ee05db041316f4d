#include "common/channel/proven_session.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "common/base/byte_span.h"
#include "common/channel/failure.h"

namespace heaptap::channel {
namespace {

constexpr std::string_view kConnectorsPurpose{"heaptap-channel-2/connector\0", 28};
constexpr std::string_view kListenersPurpose{"heaptap-channel-2/listener\0", 27};
constexpr uint8_t kRefused = 0;
constexpr uint8_t kTaken = 1;

constexpr size_t kConnectorBytes = sizeof(PublicKey) + sizeof(Digest) + sizeof(Signature);
constexpr size_t kListenerBytes = 1 + sizeof(PublicKey) + sizeof(Signature);

// The next of its kind.
template <typename T>
T take(std::span<const uint8_t>& bytes) {
  T value;
  std::copy_n(bytes.begin(), value.size(), value.begin());
  bytes = bytes.subspan(value.size());
  return value;
}

base::Error why_signed_wrongly() {
  return make_error(
      {"the other side didn't prove that it owns the key it presented: there may be a man in the middle, or bytes were "
       "changed in transit"});
}

}  // namespace

ProvenSession::ProvenSession(Role role, Credentials credentials, std::unique_ptr<Session> below, const Digest& random)
    : role_(role), credentials_(std::move(credentials)), below_(std::move(below)), random_(random) {}

Digest ProvenSession::connectors_digest(const PublicKey& connector) const {
  return sha256({base::bytes_of(kConnectorsPurpose), *below_->channel_key(), connector, random_});
}

Digest ProvenSession::listeners_digest(const PublicKey& connector, const PublicKey& listener) const {
  return sha256({base::bytes_of(kListenersPurpose), *below_->channel_key(), connector, random_, listener});
}

void ProvenSession::greet(ByteStream& stream) {
  below_->greet(stream);
  follow();
  while (state() == State::kGreeting && below_->state() == State::kReady && prove(stream)) {
  }
  if (is_refused() && (outgoing_bytes() == 0 || is_unheard())) set_failed({why_refused_});
}

bool ProvenSession::prove(ByteStream& stream) {
  if (!std::exchange(has_begun_, true) && role_ == Role::kConnector) say_as_connector();
  below_->write(stream, said_);
  follow();
  if (state() != State::kGreeting || is_refused()) return false;
  if (is_proven_) {
    if (outgoing_bytes() == 0) set_state(State::kReady);
    return false;
  }
  const bool is_refusal = role_ == Role::kConnector && !heard_.empty() && heard_.front() == kRefused;
  const size_t wanted = role_ == Role::kListener ? kConnectorBytes : kListenerBytes;
  if (heard_.size() < wanted && !is_refusal) {
    const size_t before = heard_.size();
    // A refusal is one byte.
    heard_.resize(before == 0 && role_ == Role::kConnector ? 1 : wanted);
    heard_.resize(before + below_->read_piece(stream, std::span(heard_).subspan(before)));
    follow();
    return heard_.size() > before;
  }
  if (role_ == Role::kListener) judge_connector();
  if (role_ == Role::kConnector) judge_listener();
  return true;
}

void ProvenSession::say_as_connector() {
  const PublicKey& own = credentials_.own.public_key();
  say(own);
  say(random_);
  say(credentials_.own.sign(connectors_digest(own)));
}

void ProvenSession::judge_connector() {
  std::span<const uint8_t> heard = heard_;
  const auto key = take<PublicKey>(heard);
  random_ = take<Digest>(heard);
  const auto signature = take<Signature>(heard);
  if (!take_peer(key)) {
    say({&kRefused, 1});
    return refuse(credentials_.of_token ? make_error({"it has a different token: give both sides the same one"})
                                        : make_error({"its key is not authorized here: `heaptap-target pair ",
                                                      Fingerprint::of(key).to_text(), "` authorizes it"}));
  }
  if (!is_signed_by(key, connectors_digest(key), signature)) return refuse(why_signed_wrongly());
  const PublicKey& own = credentials_.own.public_key();
  say({&kTaken, 1});
  say(own);
  say(credentials_.own.sign(listeners_digest(key, own)));
  is_proven_ = true;
}

void ProvenSession::judge_listener() {
  const std::string own = Fingerprint::of(credentials_.own.public_key()).to_text();
  if (heard_.front() == kRefused) {
    return refuse(credentials_.of_token
                      ? make_error({"the other side has a different token: give both the same one"})
                      : make_error({"the other side doesn't know this side's key: there, `heaptap-target pair ", own,
                                    "` authorizes it (on a host, `heaptap pair HOST ", own, "`)"}));
  }
  std::span<const uint8_t> heard = std::span(heard_).subspan(1);
  const auto key = take<PublicKey>(heard);
  const auto signature = take<Signature>(heard);
  if (heard_.front() != kTaken || !is_signed_by(key, listeners_digest(credentials_.own.public_key(), key), signature)) {
    return refuse(why_signed_wrongly());
  }
  if (!take_peer(key)) {
    const std::string name = Fingerprint::of(key).to_text();
    return refuse(
        credentials_.of_token
            ? make_error({"the other side has a different token: give both the same one"})
            : make_error({"the other side has the key ", name, ", which is not a known key of this address: if ",
                          "`heaptap-target pair` prints the same key there, `heaptap pair HOST ", name, "` adds it"}));
  }
  is_proven_ = true;
}

bool ProvenSession::take_peer(const PublicKey& key) {
  const TrustedKey* const found = find_key(credentials_.trusted, Fingerprint::of(key));
  if (found == nullptr) return false;
  if (!credentials_.of_token) {
    const std::string text = found->key.to_text();
    set_peer(found->name + (found->name.empty() ? "" : ", ") + text, text);
  }
  return true;
}

void ProvenSession::refuse(base::Error why) {
  set_refused();
  why_refused_ = std::move(why.message);
}

void ProvenSession::follow() {
  if (below_->is_unheard()) set_unheard();
  if (below_->state() == State::kFailed) set_failed({below_->why()});
  if (below_->state() != State::kEnded) return;
  if (state() == State::kReady) return set_state(State::kEnded);
  set_failed(make_error({"the other side closed the connection during authentication: see its messages"}));
}

void ProvenSession::read(ByteStream& stream, std::vector<uint8_t>& out) {
  below_->read(stream, out);
  follow();
}

size_t ProvenSession::read_piece(ByteStream& stream, std::span<uint8_t> room) {
  const size_t bytes = below_->read_piece(stream, room);
  follow();
  return bytes;
}

void ProvenSession::write(ByteStream& stream, ByteQueue& queue) {
  below_->write(stream, said_);
  if (state() == State::kReady && said_.empty()) below_->write(stream, queue);
  follow();
}

}  // namespace heaptap::channel
