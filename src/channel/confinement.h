// What a process gives up before it hears strangers.
#pragma once
#include <array>

#include "base/result.h"

namespace heaptap::channel {

// This process keeps these two descriptors, of all others none. It becomes nobody (uid and gid 65534) if it is root, loses all
// capabilities, can't be traced by its user, can't gain anything by exec, open, make or send anything but bytes over these sockets:
// a filter of system calls ends it where it tries (seccomp(2)). It ends with its parent. An error: it would keep rights that matter,
// as where the kernel has no filter and it isn't root.
base::Result<> confine_to(const std::array<int, 2>& descriptors);

}  // namespace heaptap::channel
