#include "common/channel/tls_session.h"

#include <string.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/channel/failure.h"
#include "common/channel/plain_session.h"

namespace heaptap::channel {
namespace {

constexpr size_t kMaxGreetingBytes = size_t{8} << 10;  // it has some 300 each way
constexpr size_t kMaxTurns = 256;
constexpr uint16_t kSuite = BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256;
// RFC 5246, 7.2: text of an alert.
constexpr uint8_t kFatal = 2;
constexpr uint8_t kUnexpectedMessage = 10;
constexpr uint8_t kHandshakeFailure = 40;
constexpr uint8_t kAccessDenied = 49;
constexpr uint8_t kDecryptError = 51;

constexpr std::array<uint8_t, 7> alert_of(uint8_t description) { return {kTlsAlert, 3, 3, 0, 2, kFatal, description}; }

base::Error why_first_byte(uint8_t byte, Role role) {
  if (byte == static_cast<uint8_t>(kPlainGreeting[0])) {
    return make_error(
        {"the other side has no token, this side has one and requires encryption: give both the same token"});
  }
  return why_no_greeting(role);
}

base::Error why_error(int error, bool is_ready) {
  if (error == BR_ERR_RECV_FATAL_ALERT + kAccessDenied) {
    return make_error({"too many connection attempts there at present: try again in a minute"});
  }
  const std::string number = std::to_string(error);
  if (is_ready) {
    return make_error({"data was changed or cut off in transit (TLS error ", number, "): connect again"});
  }
  return make_error({"TLS handshake failed (error ", number,
                     "): the other side is not heaptap or runs another version, or bytes were changed in transit"});
}

uint8_t alert_for(int error) { return error == BR_ERR_BAD_SIGNATURE ? kDecryptError : kHandshakeFailure; }

}  // namespace

std::unique_ptr<TlsSession> TlsSession::of_listener(const KeyPair& channel_key, const Seed& seed) {
  std::unique_ptr<TlsSession> session(new TlsSession(Role::kListener));
  session->set_up_listener(channel_key, seed);
  return session;
}

std::unique_ptr<TlsSession> TlsSession::of_connector(const Seed& seed) {
  std::unique_ptr<TlsSession> session(new TlsSession(Role::kConnector));
  session->set_up_connector(seed);
  return session;
}

TlsSession::~TlsSession() {
  explicit_bzero(&listener_, sizeof(listener_));
  explicit_bzero(&connector_, sizeof(connector_));
  explicit_bzero(buffer_.data(), buffer_.size());
}

void TlsSession::set_up_engine(const Seed& seed) {
  br_ssl_engine_context& engine = *engine_;
  br_ssl_engine_set_versions(&engine, BR_TLS12, BR_TLS12);
  br_ssl_engine_set_suites(&engine, &kSuite, 1);
  br_ssl_engine_add_flags(&engine, BR_OPT_NO_RENEGOTIATION);
  br_ssl_engine_set_ec(&engine, &br_ec_p256_m31);
  br_ssl_engine_set_ecdsa(&engine, br_ecdsa_i31_vrfy_asn1);
  br_ssl_engine_set_hash(&engine, br_sha256_ID, &br_sha256_vtable);
  br_ssl_engine_set_prf_sha256(&engine, br_tls12_sha256_prf);
  br_ssl_engine_set_chapol(&engine, &br_sslrec_in_chapol_vtable, &br_sslrec_out_chapol_vtable);
  br_ssl_engine_set_chacha20(&engine, br_chacha20_ct_run);
  br_ssl_engine_set_poly1305(&engine, br_poly1305_ctmul_run);
  br_ssl_engine_set_buffer(&engine, buffer_.data(), buffer_.size(), 1);
  br_ssl_engine_inject_entropy(&engine, seed.data(), seed.size());
}

void TlsSession::set_up_listener(const KeyPair& channel_key, const Seed& seed) {
  own_ = channel_key;
  own_point_ = own_->public_key();
  // BearSSL doesn't write to keys.
  own_key_ = {BR_EC_secp256r1, const_cast<uint8_t*>(own_->secret().data()), own_->secret().size()};
  own_certificate_ = {own_point_.data(), own_point_.size()};
  br_ssl_server_zero(&listener_);
  set_up_engine(seed);
  br_ssl_server_set_single_ec(&listener_, &own_certificate_, 1, &own_key_, BR_KEYTYPE_SIGN, BR_KEYTYPE_EC,
                              &br_ec_p256_m31, br_ecdsa_i31_sign_asn1);
  if (br_ssl_server_reset(&listener_) == 0) judge();
}

void TlsSession::set_up_connector(const Seed& seed) {
  br_ssl_client_zero(&connector_);
  set_up_engine(seed);
  heard_key_.vtable = &kAnyKeyClass;
  br_ssl_engine_set_x509(engine_, &heard_key_.vtable);
  if (br_ssl_client_reset(&connector_, nullptr, 0) == 0) judge();
}

const PublicKey* TlsSession::channel_key() const {
  if (role_ == Role::kListener) return &own_point_;
  return state() == State::kReady ? &heard_key_.point : nullptr;
}

const br_x509_class TlsSession::kAnyKeyClass = {
    .context_size = sizeof(AnyKey),
    .start_chain = start_chain,
    .start_cert = start_certificate,
    .append = append,
    .end_cert = end_certificate,
    .end_chain = end_chain,
    .get_pkey = key_of,
};

namespace {

// BearSSL returns the address of the first member.
template <typename T>
T& owner_of(const br_x509_class** context) {
  return *reinterpret_cast<T*>(context);
}

}  // namespace

void TlsSession::start_chain(const br_x509_class** context, const char* /*name*/) {
  auto& heard = owner_of<AnyKey>(context);
  heard.bytes = 0;
  heard.certificates = 0;
}

void TlsSession::start_certificate(const br_x509_class** context, uint32_t /*bytes*/) {
  ++owner_of<AnyKey>(context).certificates;
}

void TlsSession::append(const br_x509_class** context, const unsigned char* from, size_t bytes) {
  auto& heard = owner_of<AnyKey>(context);
  const size_t taken = std::min(bytes, heard.point.size() - std::min(heard.bytes, heard.point.size()));
  std::copy_n(from, taken, heard.point.begin() + static_cast<std::ptrdiff_t>(heard.bytes));
  heard.bytes += bytes;
}

void TlsSession::end_certificate(const br_x509_class** /*context*/) {}

unsigned TlsSession::end_chain(const br_x509_class** context) {
  auto& heard = owner_of<AnyKey>(context);
  if (heard.certificates != 1 || heard.bytes != heard.point.size()) return BR_ERR_X509_NOT_TRUSTED;
  heard.key = {.key_type = BR_KEYTYPE_EC, .key = {.ec = {BR_EC_secp256r1, heard.point.data(), heard.point.size()}}};
  return 0;
}

const br_x509_pkey* TlsSession::key_of(const br_x509_class* const* context, unsigned* usages) {
  if (usages != nullptr) *usages = BR_KEYTYPE_SIGN;
  return &reinterpret_cast<const AnyKey*>(context)->key;
}

void TlsSession::greet(ByteStream& stream) {
  send_records(stream);
  while (state() == State::kGreeting && receive_record(stream)) {
    send_records(stream);
    if (state() != State::kGreeting || heard_bytes_ <= kMaxGreetingBytes) continue;
    set_failed(why_no_greeting(role_));
    say_alert(kUnexpectedMessage);
  }
}

void TlsSession::read(ByteStream& stream, std::vector<uint8_t>& out) {
  const size_t before = out.size();
  size_t turns = 0;  // some bring nothing
  // A record more than this would be beyond what a read adds.
  while (state() == State::kReady && out.size() - before + BR_SSL_BUFSIZE_INPUT <= kMaxReadBytes &&
         ++turns < kMaxTurns) {
    size_t bytes = 0;
    if (const uint8_t* const came = br_ssl_engine_recvapp_buf(engine_, &bytes)) {
      out.insert(out.end(), came, came + bytes);
      br_ssl_engine_recvapp_ack(engine_, bytes);
    } else if (!receive_record(stream)) {
      return;
    }
  }
}

size_t TlsSession::read_piece(ByteStream& stream, std::span<uint8_t> room) {
  for (size_t turns = 0; state() == State::kReady && turns < kMaxTurns; ++turns) {
    size_t bytes = 0;
    if (const uint8_t* const came = br_ssl_engine_recvapp_buf(engine_, &bytes)) {
      bytes = std::min(bytes, room.size());
      std::copy_n(came, bytes, room.begin());
      br_ssl_engine_recvapp_ack(engine_, bytes);
      return bytes;
    }
    if (!receive_record(stream)) return 0;
  }
  return 0;
}

// The engine reads a record's head, then its body, and never beyond it.
bool TlsSession::receive_record(ByteStream& stream) {
  size_t room = 0;
  uint8_t* const to = br_ssl_engine_recvrec_buf(engine_, &room);
  if (to == nullptr) {
    // It has to send first, but the peer doesn't read.
    if (is_unheard()) hung_up({Transfer::Outcome::kEnded});
    return false;
  }
  const Transfer got = stream.receive({to, room});
  if (got.outcome == Transfer::Outcome::kLater) return false;
  if (got.outcome != Transfer::Outcome::kDone) {
    hung_up(got);
    return false;
  }
  if (heard_bytes_ == 0 && !hear_first(to[0])) return false;
  heard_bytes_ += got.bytes;
  br_ssl_engine_recvrec_ack(engine_, got.bytes);
  judge();
  return true;
}

bool TlsSession::hear_first(uint8_t byte) {
  if (byte == kTlsHandshake || byte == kTlsAlert) return true;
  set_failed(why_first_byte(byte, role_));
  say_alert(kUnexpectedMessage);
  return false;
}

void TlsSession::hung_up(const Transfer& got) {
  const bool is_broken = got.outcome == Transfer::Outcome::kBroken && got.error_number != ECONNRESET;
  if (is_broken) return set_failed(why_broken(got.error_number));
  if (state() == State::kGreeting) {
    return set_failed(make_error({"the other side closed the connection during authentication: see its messages"}));
  }
  set_failed(make_error({"the connection was cut off: the other side didn't close it properly"}));
}

void TlsSession::judge() {
  const unsigned engine = br_ssl_engine_current_state(engine_);
  const int error = br_ssl_engine_last_error(engine_);
  if (engine == BR_SSL_CLOSED && error == BR_ERR_OK) return set_state(State::kEnded);
  if (engine == BR_SSL_CLOSED) {
    const bool was_ready = state() == State::kReady;
    set_failed(why_error(error, was_ready));
    // BearSSL sends no alert for most errors. Nothing can be added to an encrypted stream from here.
    const bool is_clear = engine_->out.vtable == &br_sslrec_out_clear_vtable;
    if (!was_ready && is_clear && error < BR_ERR_RECV_FATAL_ALERT) say_alert(alert_for(error));
    return;
  }
  if (state() == State::kGreeting && (engine & BR_SSL_SENDAPP) != 0) set_state(State::kReady);
}

void TlsSession::say_alert(uint8_t description) {
  alert_ = alert_of(description);
  alert_left_ = alert_.size();
}

void TlsSession::write(ByteStream& stream, ByteQueue& queue) {
  send_records(stream);
  while (state() == State::kReady && !queue.empty() && !is_unheard()) {
    size_t room = 0;
    uint8_t* const to = br_ssl_engine_sendapp_buf(engine_, &room);
    if (to == nullptr) return;  // a record is waiting for the stream
    const auto bytes = queue.front().first(std::min(room, queue.size()));
    std::ranges::copy(bytes, to);
    br_ssl_engine_sendapp_ack(engine_, bytes.size());
    queue.drop(bytes.size());
    br_ssl_engine_flush(engine_, 0);
    send_records(stream);
  }
}

void TlsSession::send_records(ByteStream& stream) {
  while (!is_unheard()) {
    size_t bytes = 0;
    const uint8_t* const record = br_ssl_engine_sendrec_buf(engine_, &bytes);
    const auto from = record != nullptr ? std::span(record, bytes) : std::span(alert_).last(alert_left_);
    if (from.empty()) return;
    const Transfer sent = stream.send(from);
    if (sent.outcome == Transfer::Outcome::kBroken) set_unheard();
    if (sent.outcome != Transfer::Outcome::kDone) return;
    if (record == nullptr) {
      alert_left_ -= sent.bytes;
    } else {
      br_ssl_engine_sendrec_ack(engine_, sent.bytes);
      judge();
    }
  }
}

size_t TlsSession::outgoing_bytes() const {
  size_t bytes = 0;
  const bool has_record = br_ssl_engine_sendrec_buf(engine_, &bytes) != nullptr;
  return alert_left_ + (has_record ? bytes : 0);
}

void TlsSession::say_end() { br_ssl_engine_close(engine_); }

std::span<const uint8_t> TlsSession::refusal() {
  static constexpr std::array<uint8_t, kAlertBytes> kRefusal = alert_of(kAccessDenied);
  return kRefusal;
}

}  // namespace heaptap::channel
