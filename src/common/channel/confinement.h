// Confinement of a process before it handles untrusted peers.
#pragma once
#include <array>

#include "common/base/result.h"

namespace heaptap::channel {

// Closes all descriptors except these two. The process becomes nobody (uid and gid 65534) if it is root, drops all
// capabilities, can't be traced by its user, can't gain privileges by exec, and can only send and receive bytes on
// these sockets: a seccomp filter kills it otherwise (seccomp(2)). It ends with its parent. Error: it would keep
// relevant rights, e.g. if the kernel has no seccomp filters and it isn't root.
base::Result<> confine_to(const std::array<int, 2>& descriptors);

}  // namespace heaptap::channel
