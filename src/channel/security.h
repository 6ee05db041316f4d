// What protects a channel.
//
//   address        with a token    with keys       with neither
//   UNIX socket    encrypted       plain           plain: the kernel tells whose process is at the other end
//   TCP            encrypted       encrypted       refused, on loopback as well: others are there, too
//
// Over TCP, who isn't known yet is heard by a process without rights, at both ends (channel/front.h).
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "channel/address.h"
#include "channel/credentials.h"
#include "channel/key_folder.h"
#include "channel/session.h"
#include "channel/token.h"

namespace heaptap::channel {

struct Security {
  std::optional<Token> token;
  std::optional<Credentials> keys;
};

// Where to look for what this end has.
struct SecuritySources {
  std::string token_file = {};                // else the token of the environment, if there is one there
  std::optional<KeyFolder> folder = {};       // else this user's
  const char* trusted = KeyFolder::kTargets;  // the list
  std::string target = {};                    // the address of the one target that is meant, as the user names it
  bool is_name = false;                       // that is no address, but what its key is called in the list
};

base::Result<Security> read_security(const SecuritySources& sources);
// Whether a channel may be at this address.
base::Result<> check(const Security& security, const Address& address);
// None: it is plain there.
std::optional<Credentials> credentials_for(const Security& security, Role role, const Address& address);
// In this process, without a front. The kernel may have no random numbers to give.
base::Result<std::unique_ptr<Session>> make_session(Role role, const std::optional<Credentials>& credentials);
// Over a front's socket.
base::Result<std::unique_ptr<Session>> make_session_behind_front(Role role, const Credentials& credentials,
                                                                 const KeyPair* channel_key);
// An address without its port, as lists of targets have it; empty: it is a UNIX socket's, or none.
std::string host_of(std::string_view text);

}  // namespace heaptap::channel
