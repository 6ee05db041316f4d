// TLS 1.2 session (BearSSL): ECDHE on P-256, ChaCha20-Poly1305. The listener signs with a key made for this connection,
// sent in place of a certificate; the connector accepts any. So it provides encryption without authentication, which is
// done on top (common/channel/proven_session.h) by signatures that cover that key. No resumption, no renegotiation. A single
// cipher suite, so there can be no downgrade.
//
//   connector                                         listener
//   ClientHello ─────────────────────────────────────▸
//              ◂── ServerHello, Certificate (the key), ServerKeyExchange (signed), ServerHelloDone
//   ClientKeyExchange, ChangeCipherSpec, Finished ───▸
//              ◂────────────────────── ChangeCipherSpec, Finished
#pragma once
#include <bearssl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/channel/key.h"
#include "common/channel/session.h"

namespace heaptap::channel {

class TlsSession : public Session {
 public:
  // 32 unpredictable bytes.
  using Seed = std::array<uint8_t, 32>;

  // A connector has no key.
  static std::unique_ptr<TlsSession> of_listener(const KeyPair& channel_key, const Seed& seed);
  static std::unique_ptr<TlsSession> of_connector(const Seed& seed);
  ~TlsSession() override;

  void greet(ByteStream& stream) override;
  void read(ByteStream& stream, std::vector<uint8_t>& out) override;
  size_t read_piece(ByteStream& stream, std::span<uint8_t> room) override;
  void write(ByteStream& stream, ByteQueue& queue) override;
  [[nodiscard]] size_t outgoing_bytes() const override;
  void say_end() override;
  [[nodiscard]] const PublicKey* channel_key() const override;

  // Rejection before a session exists: a record that any TLS implementation understands.
  static std::span<const uint8_t> refusal();

 private:
  static constexpr size_t kAlertBytes = 7;

  // Validator that accepts the listener's key in place of a certificate.
  struct AnyKey {
    const br_x509_class* vtable;  // first: BearSSL has the address of this
    br_x509_pkey key;
    PublicKey point;
    size_t bytes;
    unsigned certificates;
  };

  explicit TlsSession(Role role) : role_(role), engine_(role == Role::kListener ? &listener_.eng : &connector_.eng) {}

  void set_up_engine(const Seed& seed);
  void set_up_listener(const KeyPair& channel_key, const Seed& seed);
  void set_up_connector(const Seed& seed);
  // False: nothing received.
  bool receive_record(ByteStream& stream);
  bool hear_first(uint8_t byte);
  void send_records(ByteStream& stream);
  void hung_up(const Transfer& got);
  // Evaluates the engine's state.
  void judge();
  void say_alert(uint8_t description);

  static void start_chain(const br_x509_class** context, const char* name);
  static void start_certificate(const br_x509_class** context, uint32_t bytes);
  static void append(const br_x509_class** context, const unsigned char* from, size_t bytes);
  static void end_certificate(const br_x509_class** context);
  static unsigned end_chain(const br_x509_class** context);
  static const br_x509_pkey* key_of(const br_x509_class* const* context, unsigned* usages);
  static const br_x509_class kAnyKeyClass;

  const Role role_;
  br_ssl_engine_context* engine_;  // of one of these
  br_ssl_server_context listener_{};
  br_ssl_client_context connector_{};
  AnyKey heard_key_{};
  std::optional<KeyPair> own_;
  br_ec_private_key own_key_{};
  br_x509_certificate own_certificate_{};
  PublicKey own_point_{};
  uint64_t heard_bytes_ = 0;
  std::array<uint8_t, kAlertBytes> alert_{};
  size_t alert_left_ = 0;
  std::array<uint8_t, BR_SSL_BUFSIZE_BIDI> buffer_;
};

}  // namespace heaptap::channel
