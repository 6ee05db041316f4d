// Private directories of this user for the sockets of recordings, which nobody else can write to.
#pragma once
#include <string>
#include <vector>

#include "common/base/result.h"

namespace heaptap::endpoint {

// $XDG_RUNTIME_DIR/heaptap, /run/user/UID/heaptap, for root /run/heaptap, /tmp/heaptap-UID: those that exist and are private to
// this user, in this order. Recorder and client may have different environments, so clients search all of them.
std::vector<std::string> own_directories();

// The first of these that exists or can be created.
base::Result<std::string> make_own_directory();

}  // namespace heaptap::endpoint
