// What protects a channel, and where it may go without.
//
//   address                 token       no token       no token, insecure
//   UNIX socket, loopback   TLS         plain          plain
//   beyond                  TLS         refused        plain
#pragma once
#include <memory>
#include <optional>

#include "base/result.h"
#include "channel/address.h"
#include "channel/session.h"
#include "channel/token.h"

namespace heaptap::channel {

struct Security {
  std::optional<Token> token;
  bool allows_insecure = false;
};

// With the token of a file; without a file that of the environment, if there is one there.
base::Result<Security> read_security(const std::string& token_file, bool allows_insecure);
// Whether a channel may be at this address.
base::Result<> check(const Security& security, const Address& address);
// The kernel may have no random numbers to give.
base::Result<std::unique_ptr<Session>> make_session(Role role, const Security& security);

}  // namespace heaptap::channel
