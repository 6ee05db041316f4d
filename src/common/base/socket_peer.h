// Peer credentials of a UNIX socket.
#pragma once
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <optional>

namespace heaptap::base {

// At the time of connect or listen (unix(7), SO_PEERCRED).
struct Peer {
  std::optional<uid_t> user;  // none: unknown, or no UNIX socket
  pid_t process = 0;          // 0: in another PID namespace, without a number here
};

inline Peer peer_of(int connection) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return {};
  return {peer.uid, peer.pid};
}

inline std::optional<uid_t> user_of_peer(int connection) { return peer_of(connection).user; }

// Whether the peer may request what this process's user may: it is that user, or root.
inline bool is_own_user_or_root(std::optional<uid_t> peer) { return peer && (*peer == 0 || *peer == geteuid()); }

}  // namespace heaptap::base
