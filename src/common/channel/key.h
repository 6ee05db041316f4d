// Key pairs for authenticating an end of a channel: ECDSA on P-256 with SHA-256. A public key is identified by its
// fingerprint, which users copy and lists of trusted keys contain.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/channel/secret_bytes.h"

namespace heaptap::channel {

// Uncompressed curve point (SEC 1, 2.3.3).
using PublicKey = std::array<uint8_t, 65>;
using Digest = std::array<uint8_t, 32>;
// r and s, 32 bytes each.
using Signature = std::array<uint8_t, 64>;

Digest sha256(std::initializer_list<std::span<const uint8_t>> parts);

// SHA-256 of a public key: "SHA256:" and 43 characters of base64.
class Fingerprint {
 public:
  static Fingerprint of(const PublicKey& key);
  static std::optional<Fingerprint> parse(std::string_view text);

  [[nodiscard]] std::string to_text() const;
  bool operator==(const Fingerprint&) const = default;

 private:
  explicit Fingerprint(const Digest& digest) : digest_(digest) {}

  Digest digest_;
};

class KeyPair {
 public:
  using Secret = SecretBytes::Bytes;

  // A new key pair. Fails if the kernel has no random numbers.
  static base::Result<KeyPair> generate();
  // Deterministic: HMAC_DRBG (NIST SP 800-90A) with this seed, for this purpose.
  static KeyPair from_seed(std::span<const uint8_t> seed, std::string_view purpose);
  // None: no valid private key of the curve.
  static std::optional<KeyPair> from_secret(const Secret& secret);

  [[nodiscard]] const PublicKey& public_key() const { return public_key_; }
  [[nodiscard]] const Secret& secret() const { return secret_.bytes(); }
  [[nodiscard]] Signature sign(const Digest& digest) const;

 private:
  KeyPair() = default;
  // Computes the public key. False: the private one has none.
  bool complete();

  SecretBytes secret_;
  PublicKey public_key_{};
};

// Whether `signature` was made with `key`, which may be any bytes.
bool is_signed_by(const PublicKey& key, const Digest& digest, const Signature& signature);

}  // namespace heaptap::channel
