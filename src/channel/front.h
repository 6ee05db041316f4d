// A process that stands between the network and this one: it alone hears a stranger's bytes before he has proved who he is, and
// has no rights: another user, no capability, no new descriptor, a filter of system calls (channel/confinement.h). It encrypts; the
// proof (channel/proven_session.h) goes through it and is judged here, where the keys are. One process a connection, so that one
// stranger has nothing of another's.
//
//   peer ══ network, TLS ══▸ front ── pair of sockets ──▸ FrontSession, below ProvenSession
//
// The front says first, once: 'r' and the channel's key, or 'f', a length and why there is no session. Then bytes are passed on.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "channel/key.h"
#include "channel/passing_session.h"

namespace heaptap::channel {

// Makes a front for a connected socket: gives the other end of its pair. `channel_key`: of a listener; null: it is a connector's.
base::Result<base::UniqueFd> start_front(base::UniqueFd network, const KeyPair* channel_key);
// Fronts that have ended leave the kernel's table of processes; start_front() does it as well.
void reap_fronts();

class FrontSession : public PassingSession {
 public:
  // `channel_key`: of a listener, which made it; else the front says it.
  FrontSession(Role role, const PublicKey* channel_key);

  void greet(ByteStream& stream) override;
  [[nodiscard]] size_t outgoing_bytes() const override { return 0; }
  [[nodiscard]] const PublicKey* channel_key() const override { return channel_key_ ? &*channel_key_ : nullptr; }

 private:
  // How much the first word has, as far as it is known.
  [[nodiscard]] size_t wanted_bytes() const;
  void judge();

  const Role role_;
  std::optional<PublicKey> channel_key_;
  std::vector<uint8_t> heard_;
};

}  // namespace heaptap::channel
