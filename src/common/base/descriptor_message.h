// UNIX socket messages with an optional file descriptor.
#pragma once
#include <sys/types.h>

#include <span>
#include <string_view>

#include "common/base/unique_fd.h"

namespace heaptap::base {

// sendmsg() without SIGPIPE. `descriptor` stays the caller's; negative: none.
ssize_t send_message(int socket, std::string_view bytes, int descriptor, int flags = 0);

// recvmsg(). `descriptor`: the received one, close-on-exec; of several the first, others are closed. `is_lost`: a sent
// descriptor couldn't be received, e.g. because of this process's limit of open files.
ssize_t receive_message(int socket, std::span<char> room, UniqueFd& descriptor, int flags = 0, bool* is_lost = nullptr);

}  // namespace heaptap::base
