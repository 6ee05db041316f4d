// Keys by which an end of a channel proves who it is: ECDSA on P-256 with SHA-256. A public key is named by its fingerprint,
// which is what people copy and files of trusted keys list.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "channel/secret_bytes.h"

namespace heaptap::channel {

// A point of the curve, not compressed (SEC 1, 2.3.3).
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

  // A new one. The kernel may have no random numbers.
  static base::Result<KeyPair> generate();
  // The same one each time: HMAC_DRBG (NIST SP 800-90A) with this seed, for this purpose.
  static KeyPair from_seed(std::span<const uint8_t> seed, std::string_view purpose);
  // None: it is no private key of the curve.
  static std::optional<KeyPair> from_secret(const Secret& secret);

  [[nodiscard]] const PublicKey& public_key() const { return public_key_; }
  [[nodiscard]] const Secret& secret() const { return secret_.bytes(); }
  [[nodiscard]] Signature sign(const Digest& digest) const;

 private:
  KeyPair() = default;
  // Whether there is a public key to the private one.
  bool complete();

  SecretBytes secret_;
  PublicKey public_key_{};
};

// Whether the owner of `key` signed it. The key may be anything.
bool is_signed_by(const PublicKey& key, const Digest& digest, const Signature& signature);

}  // namespace heaptap::channel
