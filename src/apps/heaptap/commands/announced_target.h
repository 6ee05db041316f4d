// Discovery of a target given by name alone, among those announced on the local networks. Announcements are untrusted: a result is an
// address to try, and the peer there must prove the key known by that name, or the token.
#pragma once
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/channel/address.h"
#include "common/channel/security.h"

namespace heaptap::app {

// Means to authenticate the target; without any, the error names the commands to set one up.
base::Result<channel::Security> security_of_named(const std::string& name, const std::string& token_file);
// Its addresses, in order of preference.
base::Result<std::vector<channel::Address>> find_announced(const std::string& name);

}  // namespace heaptap::app
