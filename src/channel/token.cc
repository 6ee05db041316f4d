#include "channel/token.h"

#include <bearssl.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstdlib>

#include "base/check.h"
#include "base/unique_fd.h"
#include "channel/failure.h"

namespace heaptap::channel {
namespace {

constexpr size_t kMinBytes = 16;
constexpr size_t kMinDifferentBytes = 5;  // fewer: somebody leaned on a key
constexpr size_t kMaxBytes = 4096;
constexpr std::string_view kSpace = " \t\r\n";

std::unexpected<base::Error> unusable(std::initializer_list<std::string_view> parts) {
  return fail({join(parts), "; make one: (umask 077; head -c 32 /dev/urandom | base64 -w0 > FILE)"});
}

// HMAC_DRBG (NIST SP 800-90A) with the token as its seed gives the same number each time.
void make_key(std::string_view token, std::string_view whose, Token::Key& key) {
  br_hmac_drbg_context numbers;
  br_hmac_drbg_init(&numbers, &br_sha256_vtable, token.data(), token.size());
  br_hmac_drbg_update(&numbers, whose.data(), whose.size());
  br_ec_private_key secret{};
  br_ec_public_key point{};
  const size_t made = br_ec_keygen(&numbers.vtable, &br_ec_p256_m31, &secret, key.secret.data(), BR_EC_secp256r1);
  HEAPTAP_CHECK(made == key.secret.size());
  HEAPTAP_CHECK(br_ec_compute_pub(&br_ec_p256_m31, &point, key.point.data(), &secret) == key.point.size());
  explicit_bzero(&numbers, sizeof(numbers));
}

size_t count_different(std::string_view text) {
  std::bitset<256> seen;
  for (const char letter : text) seen.set(static_cast<uint8_t>(letter));
  return seen.count();
}

// Ends the text at the file's end. False, and errno: it can't be read.
bool read_all(int file, std::string& text) {
  text.resize(kMaxBytes + 1);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t bytes = ::read(file, text.data() + done, text.size() - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return false;
    if (bytes == 0) break;
    done += static_cast<size_t>(bytes);
  }
  text.resize(done);
  return true;
}

}  // namespace

base::Result<Token> Token::from_text(std::string_view text, std::string_view origin) {
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  const size_t end = text.find_last_not_of(kSpace) + 1;  // npos + 1 is 0
  text = begin < end ? text.substr(begin, end - begin) : std::string_view();
  if (text.size() < kMinBytes || count_different(text) < kMinDifferentBytes) {
    return unusable({"the token in ", origin, " is too easily guessed (a token has at least ",
                     std::to_string(kMinBytes), " characters, and different ones)"});
  }
  if (text.size() > kMaxBytes) {
    return unusable(
        {"what is in ", origin, " is too long for a token (at most ", std::to_string(kMaxBytes), " bytes)"});
  }
  Token token;
  make_key(text, "heaptap-channel-1/listener", token.listener_);
  make_key(text, "heaptap-channel-1/connector", token.connector_);
  return token;
}

base::Result<Token> Token::from_file(const std::string& path) {
  // Not waiting for a writer: it may be a pipe.
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts{};
  if (!file || fstat(file.get(), &facts) != 0) {
    return unusable({"can't read the token file '", path, "': ", base::reason_of(errno), ""});
  }
  if (!S_ISREG(facts.st_mode)) return unusable({"the token file '", path, "' is no regular file"});
  if (facts.st_uid != geteuid() && facts.st_uid != 0) {
    return unusable(
        {"the token file '", path, "' belongs to another user, who knows the token: take a file of your own"});
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail({"others than its owner may use the token file '", path, "': `chmod 600 ", path,
                 "`, and make another token if somebody may have read it"});
  }
  std::string text;
  if (!read_all(file.get(), text)) {
    return fail({"can't read the token file '", path, "': ", base::reason_of(errno)});
  }
  auto token = from_text(text, join({"'", path, "'"}));
  explicit_bzero(text.data(), text.size());
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

Token::~Token() {
  explicit_bzero(&listener_, sizeof(listener_));
  explicit_bzero(&connector_, sizeof(connector_));
}

}  // namespace heaptap::channel
