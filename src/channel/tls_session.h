// A channel's bytes by TLS 1.2 (BearSSL): ECDHE on P-256, ChaCha20-Poly1305, and both ends have to sign with the key that the
// token gives them. Certificates are empty; each end knows the other's key beforehand and takes no other. Nothing is resumed or
// negotiated anew. One suite, so nothing weaker can be agreed on.
//
//   connector                                         listener
//   ClientHello ─────────────────────────────────────▸
//              ◂── ServerHello, Certificate, ServerKeyExchange (signed), CertificateRequest, ServerHelloDone
//   Certificate, ClientKeyExchange, CertificateVerify (signed), ChangeCipherSpec, Finished ──▸
//              ◂────────────────────── ChangeCipherSpec, Finished
#pragma once
#include <bearssl.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "channel/session.h"
#include "channel/token.h"

namespace heaptap::channel {

class TlsSession : public Session {
 public:
  // 32 bytes nobody can foresee: getrandom(2).
  using Seed = std::array<uint8_t, 32>;

  TlsSession(Role role, const Token& token, const Seed& seed);
  ~TlsSession() override;

  void greet(ByteStream& stream) override;
  void read(ByteStream& stream, std::vector<uint8_t>& out) override;
  void write(ByteStream& stream, ByteQueue& queue) override;
  [[nodiscard]] size_t outgoing_bytes() const override;
  void say_end() override;

  // What is said to one who is sent away before there is a session: a record that any TLS understands.
  static std::span<const uint8_t> refusal();

 private:
  static constexpr size_t kAlertBytes = 7;

  void set_up_engine(br_ssl_engine_context& engine, const Token::Key& peer, const Seed& seed);
  void set_up_listener();
  void set_up_connector();
  // False: nothing came.
  bool receive_record(ByteStream& stream);
  bool hear_first(uint8_t byte);
  void send_records(ByteStream& stream);
  void hung_up(const Transfer& got);
  // Looks at what the engine makes of what it got.
  void judge();
  void say_alert(uint8_t description);

  const Role role_;
  Token token_;
  br_ssl_engine_context* engine_;  // of one of these
  br_ssl_server_context listener_{};
  br_ssl_client_context connector_{};
  br_x509_knownkey_context known_{};
  br_ec_public_key peer_key_{};
  br_ec_private_key own_key_{};
  uint64_t heard_bytes_ = 0;
  std::array<uint8_t, kAlertBytes> alert_{};
  size_t alert_left_ = 0;
  std::array<uint8_t, BR_SSL_BUFSIZE_BIDI> buffer_;
};

}  // namespace heaptap::channel
