// Mutual authentication over another session, before it is ready. The session below encrypts, with a key made by the
// listener for this connection alone; the signatures cover that key, so that they are useless in another connection or
// to a man in the middle. The connector proves first: a stranger gets no signature.
//
//   connector                                                             listener
//   public key, 32 random bytes, signature ──────────────────────────────▸          is that key trusted?
//           ◂──────────── a byte: 1, public key, signature; or 0: not trusted
//
// Signed data: SHA-256 of purpose, channel's key, connector's key, random bytes; and of the listener's key, if it signs.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/channel/credentials.h"
#include "common/channel/session.h"

namespace heaptap::channel {

class ProvenSession : public Session {
 public:
  // `below` must know the channel's key once it is ready.
  ProvenSession(Role role, Credentials credentials, std::unique_ptr<Session> below, const Digest& random);

  void greet(ByteStream& stream) override;
  void read(ByteStream& stream, std::vector<uint8_t>& out) override;
  size_t read_piece(ByteStream& stream, std::span<uint8_t> room) override;
  void write(ByteStream& stream, ByteQueue& queue) override;
  [[nodiscard]] size_t outgoing_bytes() const override { return said_.size() + below_->outgoing_bytes(); }
  void say_end() override { below_->say_end(); }

 private:
  static constexpr size_t kSaidBytes = 512;

  // Returns whether there was progress.
  bool prove(ByteStream& stream);
  void say(std::span<const uint8_t> bytes) { (void)said_.add(bytes); }
  void say_as_connector();
  void judge_connector();
  void judge_listener();
  // False: that key isn't trusted.
  bool take_peer(const PublicKey& key);
  void refuse(base::Error why);
  // Adopts the state of the session below.
  void follow();
  [[nodiscard]] Digest connectors_digest(const PublicKey& connector) const;
  [[nodiscard]] Digest listeners_digest(const PublicKey& connector, const PublicKey& listener) const;

  const Role role_;
  const Credentials credentials_;
  std::unique_ptr<Session> below_;
  Digest random_;  // the connector's
  ByteQueue said_{kSaidBytes};
  std::vector<uint8_t> heard_;
  bool has_begun_ = false;
  bool is_proven_ = false;
  std::string why_refused_;
};

}  // namespace heaptap::channel
