#include "channel/security.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "channel/failure.h"
#include "channel/plain_session.h"
#include "channel/tls_session.h"

namespace heaptap::channel {
namespace {

// As many as a seed has come in one piece (random(7): up to 256 bytes aren't interrupted).
bool fill(TlsSession::Seed& seed) {
  const auto is_whole = [&](ssize_t bytes) { return bytes == static_cast<ssize_t>(seed.size()); };
  if (is_whole(getrandom(seed.data(), seed.size(), 0))) return true;
  if (errno != ENOSYS) return false;
  const base::UniqueFd file(open("/dev/urandom", O_RDONLY | O_CLOEXEC));  // before Linux 3.17
  return file && is_whole(::read(file.get(), seed.data(), seed.size()));
}

}  // namespace

base::Result<Security> read_security(const std::string& token_file, bool allows_insecure) {
  Security security{.token = {}, .allows_insecure = allows_insecure};
  if (!token_file.empty()) {
    auto token = Token::from_file(token_file);
    if (!token) return std::unexpected(std::move(token).error());
    security.token = *std::move(token);
    return security;
  }
  auto token = Token::from_environment();
  if (!token) return std::unexpected(std::move(token).error());
  security.token = *std::move(token);
  return security;
}

base::Result<> check(const Security& security, const Address& address) {
  if (security.token || security.allows_insecure || address.is_loopback()) return {};
  return fail({"'", address.to_text(),
               "' is beyond this machine's own addresses, and no token protects the connection: make one ",
               "(umask 077; head -c 32 /dev/urandom | base64 -w0 > FILE) and give it to both sides (--token-file "
               "FILE); or go by `ssh -L` to a "
               "loopback address; or say that it may be insecure (--insecure), in a network where everybody may read "
               "and change it"});
}

base::Result<std::unique_ptr<Session>> make_session(Role role, const Security& security) {
  if (!security.token) return std::make_unique<PlainSession>(role);
  TlsSession::Seed seed;
  if (!fill(seed)) return fail({"can't encrypt: the kernel gives no random numbers: ", base::reason_of(errno)});
  return std::make_unique<TlsSession>(role, *security.token, seed);
}

}  // namespace heaptap::channel
