#include "common/channel/key.h"

#include <bearssl.h>
#include <string.h>

#include <algorithm>

#include "common/base/base64.h"
#include "common/base/check.h"
#include "common/channel/random.h"

namespace heaptap::channel {
namespace {

constexpr std::string_view kFingerprintPrefix = "SHA256:";

// BearSSL doesn't write to keys.
br_ec_private_key private_key_of(const KeyPair::Secret& secret) {
  return {BR_EC_secp256r1, const_cast<uint8_t*>(secret.data()), secret.size()};
}

}  // namespace

Digest sha256(std::initializer_list<std::span<const uint8_t>> parts) {
  br_sha256_context context;
  br_sha256_init(&context);
  for (const auto part : parts) br_sha256_update(&context, part.data(), part.size());
  Digest digest;
  br_sha256_out(&context, digest.data());
  return digest;
}

Fingerprint Fingerprint::of(const PublicKey& key) { return Fingerprint(sha256({key})); }

std::optional<Fingerprint> Fingerprint::parse(std::string_view text) {
  if (!text.starts_with(kFingerprintPrefix)) return std::nullopt;
  Digest digest;
  if (!base::base64_decode(text.substr(kFingerprintPrefix.size()), digest)) return std::nullopt;
  return Fingerprint(digest);
}

std::string Fingerprint::to_text() const { return std::string(kFingerprintPrefix) + base::base64_encode(digest_); }

base::Result<KeyPair> KeyPair::generate() {
  std::array<uint8_t, 48> seed;
  HEAPTAP_TRY(fill_random(seed));
  KeyPair pair = from_seed(seed, "");
  explicit_bzero(seed.data(), seed.size());
  return pair;
}

KeyPair KeyPair::from_seed(std::span<const uint8_t> seed, std::string_view purpose) {
  br_hmac_drbg_context numbers;
  br_hmac_drbg_init(&numbers, &br_sha256_vtable, seed.data(), seed.size());
  br_hmac_drbg_update(&numbers, purpose.data(), purpose.size());
  KeyPair pair;
  br_ec_private_key made{};
  const size_t bytes =
      br_ec_keygen(&numbers.vtable, &br_ec_p256_m31, &made, pair.secret_.bytes().data(), BR_EC_secp256r1);
  HEAPTAP_CHECK(bytes == pair.secret().size() && pair.complete());
  explicit_bzero(&numbers, sizeof(numbers));
  return pair;
}

std::optional<KeyPair> KeyPair::from_secret(const Secret& secret) {
  KeyPair pair;
  pair.secret_.bytes() = secret;
  return pair.complete() ? std::optional(pair) : std::nullopt;
}

bool KeyPair::complete() {
  const br_ec_private_key own = private_key_of(secret());
  br_ec_public_key point{};
  return br_ec_compute_pub(&br_ec_p256_m31, &point, public_key_.data(), &own) == public_key_.size() &&
         // 0 and numbers beyond the curve's order give no point, or signatures that can't be verified.
         is_signed_by(public_key_, Digest{1}, sign(Digest{1}));
}

Signature KeyPair::sign(const Digest& digest) const {
  const br_ec_private_key own = private_key_of(secret());
  Signature signature{};
  (void)br_ecdsa_i31_sign_raw(&br_ec_p256_m31, &br_sha256_vtable, digest.data(), &own, signature.data());
  return signature;
}

bool is_signed_by(const PublicKey& key, const Digest& digest, const Signature& signature) {
  PublicKey point = key;
  const br_ec_public_key pub{BR_EC_secp256r1, point.data(), point.size()};
  return br_ecdsa_i31_vrfy_raw(&br_ec_p256_m31, digest.data(), digest.size(), &pub, signature.data(),
                               signature.size()) == 1;
}

}  // namespace heaptap::channel
