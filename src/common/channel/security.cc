#include "common/channel/security.h"

#include <algorithm>
#include <utility>

#include "common/channel/failure.h"
#include "common/channel/front.h"
#include "common/channel/plain_session.h"
#include "common/channel/proven_session.h"
#include "common/channel/random.h"
#include "common/channel/tls_session.h"

namespace heaptap::channel {
namespace {

base::Result<std::unique_ptr<Session>> prove_over(std::unique_ptr<Session> below, Role role,
                                                  const Credentials& credentials) {
  Digest random;
  HEAPTAP_TRY(fill_random(random));
  return std::make_unique<ProvenSession>(role, credentials, std::move(below), random);
}

base::Result<std::optional<Credentials>> read_keys(const SecuritySources& sources) {
  auto directory = sources.directory ? base::Result<KeyDirectory>(*sources.directory) : KeyDirectory::of_user();
  if (!directory) return std::nullopt;  // without a home directory there are no keys
  auto own = directory->read_key();
  if (!own) return std::unexpected(std::move(own).error());
  auto trusted = directory->read_trusted(sources.trusted);
  if (!trusted) return std::unexpected(std::move(trusted).error());
  if (!*own) return std::nullopt;
  const std::string host = sources.is_name || sources.target.empty() ? sources.target : host_of(sources.target);
  if (!host.empty()) std::erase_if(*trusted, [&](const TrustedKey& each) { return each.name != host; });
  return Credentials{.own = **own, .trusted = *std::move(trusted)};
}

}  // namespace

std::string host_of(std::string_view text) {
  constexpr std::string_view kTcp = "tcp:";
  if (text.starts_with(kTcp)) text.remove_prefix(kTcp.size());
  // An IPv6 address without a port; one with a port has brackets.
  const bool is_ipv6 = std::ranges::count(text, ':') > 1 && !text.contains('[');
  auto address = is_ipv6 ? parse_address(join({"[", text, "]:0"})) : parse_address(text);
  // Without a port, as in a list of targets.
  if (!address) address = parse_address(join({text, ":0"}));
  if (!address || address->is_file()) return {};
  const std::string whole = address->to_text();
  return whole.substr(0, whole.rfind(':'));
}

base::Result<Security> read_security(const SecuritySources& sources) {
  Security security;
  if (!sources.token_file.empty()) {
    auto token = Token::from_file(sources.token_file);
    if (!token) return std::unexpected(std::move(token).error());
    security.token = *std::move(token);
    return security;
  }
  auto token = Token::from_environment();
  if (!token) return std::unexpected(std::move(token).error());
  security.token = *std::move(token);
  if (security.token) return security;
  auto keys = read_keys(sources);
  if (!keys) return std::unexpected(std::move(keys).error());
  security.keys = *std::move(keys);
  return security;
}

base::Result<> check(const Security& security, const Address& address) {
  if (address.is_file() || security.token) return {};
  if (security.keys && !security.keys->trusted.empty()) return {};
  const std::string place = join({"'", address.to_text(), "'"});
  if (security.keys) {
    return fail({place,
                 " is TCP, which is open to others, and no key of the other side is known for it: `heaptap pair` on "
                 "the host prints what to type"});
  }
  return fail({place,
               " is TCP, which is open to others, and no key or token for authentication is known: pair the machines "
               "(`heaptap pair` on the host prints what to type), or give both a token (heaptap-target token), or use "
               "a UNIX socket, which ssh forwards"});
}

std::optional<Credentials> credentials_for(const Security& security, Role role, const Address& address) {
  if (security.token) {
    const bool listens = role == Role::kListener;
    const KeyPair& own = listens ? security.token->listeners_key() : security.token->connectors_key();
    const KeyPair& other = listens ? security.token->connectors_key() : security.token->listeners_key();
    return Credentials{.own = own, .trusted = {{Fingerprint::of(other.public_key()), ""}}, .of_token = true};
  }
  return address.is_file() ? std::nullopt : security.keys;
}

base::Result<std::unique_ptr<Session>> make_session(Role role, const std::optional<Credentials>& credentials) {
  if (!credentials) return std::make_unique<PlainSession>(role);
  TlsSession::Seed seed;
  HEAPTAP_TRY(fill_random(seed));
  if (role == Role::kConnector) return prove_over(TlsSession::of_connector(seed), role, *credentials);
  const auto channel_key = KeyPair::generate();
  if (!channel_key) return std::unexpected(channel_key.error());
  return prove_over(TlsSession::of_listener(*channel_key, seed), role, *credentials);
}

base::Result<std::unique_ptr<Session>> make_session_behind_front(Role role, const Credentials& credentials,
                                                                 const KeyPair* channel_key) {
  const PublicKey* const key = channel_key != nullptr ? &channel_key->public_key() : nullptr;
  return prove_over(std::make_unique<FrontSession>(role, key), role, credentials);
}

}  // namespace heaptap::channel
