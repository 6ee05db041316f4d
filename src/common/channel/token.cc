#include "common/channel/token.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "common/base/base64.h"
#include "common/base/small_file.h"
#include "common/channel/failure.h"
#include "common/channel/random.h"
#include "common/channel/secret_file.h"

namespace heaptap::channel {
namespace {

// "heaptap1:" and the base64 of 32 random bytes and the first 4 of their SHA-256, which detects typing errors and
// invented tokens.
constexpr std::string_view kPrefix = "heaptap1:";
constexpr size_t kRandomBytes = 32;
constexpr size_t kCheckBytes = 4;
constexpr size_t kMaxFileBytes = 4096;

using TokenBytes = std::array<uint8_t, kRandomBytes + kCheckBytes>;

std::span<const uint8_t> random_part(const TokenBytes& bytes) { return std::span(bytes).first(kRandomBytes); }

bool has_right_check(const TokenBytes& bytes) {
  const Digest digest = sha256({random_part(bytes)});
  return std::equal(bytes.begin() + kRandomBytes, bytes.end(), digest.begin());
}

std::unexpected<base::Error> unusable(std::initializer_list<std::string_view> parts) {
  return fail({join(parts), "; make one, and give the file to both sides: (umask 077; heaptap-target token > FILE)"});
}

}  // namespace

base::Result<std::string> Token::make_text() {
  TokenBytes bytes;
  HEAPTAP_TRY(fill_random(std::span(bytes).first(kRandomBytes)));
  const Digest digest = sha256({random_part(bytes)});
  std::copy_n(digest.begin(), kCheckBytes, bytes.begin() + kRandomBytes);
  return std::string(kPrefix) + base::base64_encode(bytes);
}

base::Result<Token> Token::from_text(std::string_view text, std::string_view origin) {
  text = base::trimmed(text);
  TokenBytes bytes;
  if (!text.starts_with(kPrefix) || !base::base64_decode(text.substr(kPrefix.size()), bytes) ||
      !has_right_check(bytes)) {
    return unusable({origin, " does not contain a complete token of `heaptap-target token`"});
  }
  Token token(KeyPair::from_seed(random_part(bytes), "heaptap-channel-2/listener"),
              KeyPair::from_seed(random_part(bytes), "heaptap-channel-2/connector"));
  explicit_bzero(bytes.data(), bytes.size());
  return token;
}

base::Result<Token> Token::from_file(const std::string& path) {
  auto text = read_owned_file(path, "token file", FileAccess::kReadByOwner, kMaxFileBytes);
  if (!text) return std::unexpected(std::move(text).error());
  if (!*text) return unusable({"no token file '", path, "'"});
  auto token = from_text(**text, join({"'", path, "'"}));
  explicit_bzero((*text)->data(), (*text)->size());
  return token;
}

base::Result<std::optional<Token>> Token::from_environment() {
  char* const text = std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr) return std::nullopt;
  auto token = from_text(text, kVariable);
  explicit_bzero(text, strlen(text));
  unsetenv(kVariable);  // NOLINT(concurrency-mt-unsafe)
  if (!token) return std::unexpected(token.error());
  return *std::move(token);
}

}  // namespace heaptap::channel
