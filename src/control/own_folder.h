// The folders in which sockets of recordings are made: this user's alone, so that nobody else can have put anything there.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptap::control {

// $XDG_RUNTIME_DIR/heaptap, /run/user/UID/heaptap, of root /run/heaptap, /tmp/heaptap-UID: those that are there and are this
// user's alone, in this order. Who listens and who asks may have other environments, so the latter looks into all of them.
std::vector<std::string> own_folders();

// The first of these that is there or can be made.
base::Result<std::string> make_own_folder();

}  // namespace heaptap::control
