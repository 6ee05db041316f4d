// Messages over a UNIX socket that may bring a descriptor.
#pragma once
#include <sys/types.h>

#include <span>
#include <string_view>

#include "base/unique_fd.h"

namespace heaptap::base {

// sendmsg(), without SIGPIPE. `descriptor` stays the caller's; negative: none.
ssize_t send_message(int socket, std::string_view bytes, int descriptor, int flags = 0);

// recvmsg(). `descriptor`: the one that came with it, not inherited through exec; of several the first one, others are closed.
// `is_lost`: what was sent with it couldn't be taken, as where this process may open no more files.
ssize_t receive_message(int socket, std::span<char> room, UniqueFd& descriptor, int flags = 0, bool* is_lost = nullptr);

}  // namespace heaptap::base
