// A target that is meant by its name alone: looked for among those that are announced on the local networks. Anybody can announce
// anything: what is found is a place to try, and who answers there has to prove the key that is known by that name, or the token.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "channel/address.h"
#include "channel/security.h"

namespace heaptap::app {

// What proves who it is; the error says what is to be typed where nothing does.
base::Result<channel::Security> security_of_named(const std::string& name, const std::string& token_file);
// Its addresses, in the order in which they are to be tried.
base::Result<std::vector<channel::Address>> find_announced(const std::string& name);

}  // namespace heaptap::app
