// Security of a channel.
//
//   address        with a token    with keys       with neither
//   UNIX socket    encrypted       plain           plain: the kernel gives the peer's user
//   TCP            encrypted       encrypted       refused, even on loopback, which other users can access
//
// Over TCP, unauthenticated peers are handled by a process without rights, at both ends (common/channel/front.h).
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/channel/address.h"
#include "common/channel/credentials.h"
#include "common/channel/key_directory.h"
#include "common/channel/session.h"
#include "common/channel/token.h"

namespace heaptap::channel {

struct Security {
  std::optional<Token> token;
  std::optional<Credentials> keys;
};

// Sources of this end's credentials.
struct SecuritySources {
  std::string token_file = {};                   // else the token in the environment, if set
  std::optional<KeyDirectory> directory = {};    // else this user's key directory
  const char* trusted = KeyDirectory::kTargets;  // the list of trusted keys
  std::string target = {};                       // address of the only acceptable target, as named by the user
  bool is_name = false;                          // it is no address, but the name of its key in the list
};

base::Result<Security> read_security(const SecuritySources& sources);
// Whether a channel is permitted at this address.
base::Result<> check(const Security& security, const Address& address);
// None: unprotected at this address.
std::optional<Credentials> credentials_for(const Security& security, Role role, const Address& address);
// In this process, without a front. Fails if the kernel has no random numbers.
base::Result<std::unique_ptr<Session>> make_session(Role role, const std::optional<Credentials>& credentials);
// Over a front's socket.
base::Result<std::unique_ptr<Session>> make_session_behind_front(Role role, const Credentials& credentials,
                                                                 const KeyPair* channel_key);
// An address without its port, as in lists of targets; empty: a UNIX socket's, or no address.
std::string host_of(std::string_view text);

}  // namespace heaptap::channel
