// Who is at the other end of a UNIX socket.
#pragma once
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <optional>

namespace heaptap::base {

// None: it isn't known, or it is no UNIX socket.
inline std::optional<uid_t> user_of_peer(int connection) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return std::nullopt;
  return peer.uid;
}

// Whether it may ask of this process what this process's user may: that user, or root.
inline bool is_own_user_or_root(std::optional<uid_t> peer) { return peer && (*peer == 0 || *peer == geteuid()); }

}  // namespace heaptap::base
