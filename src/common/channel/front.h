// Front: an isolated process between the network and this one. It alone parses a stranger's bytes before
// authentication, and has no rights: another user, no capability, no new descriptor, a seccomp filter
// (common/channel/confinement.h). It encrypts; the authentication (common/channel/proven_session.h) passes through it and is verified
// here, where the keys are. One process per connection, so that a stranger can't reach another's data.
//
//   peer ══ network, TLS ══▸ front ── pair of sockets ──▸ FrontSession, below ProvenSession
//
// The front first sends, once: 'r' and the channel's key, or 'f', a length and the error. Then bytes are relayed.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/channel/key.h"
#include "common/channel/passing_session.h"

namespace heaptap::channel {

// Starts a front for a connected socket; returns the other end of its socket pair. `channel_key`: for a listener; null: for a connector.
base::Result<base::UniqueFd> start_front(base::UniqueFd network, const KeyPair* channel_key);
// Reaps ended fronts; start_front() does so as well.
void reap_fronts();

class FrontSession : public PassingSession {
 public:
  // `channel_key`: for a listener, which made it; otherwise the front reports it.
  FrontSession(Role role, const PublicKey* channel_key);

  void greet(ByteStream& stream) override;
  [[nodiscard]] size_t outgoing_bytes() const override { return 0; }
  [[nodiscard]] const PublicKey* channel_key() const override { return channel_key_ ? &*channel_key_ : nullptr; }

 private:
  // Length of the first message, as far as known.
  [[nodiscard]] size_t wanted_bytes() const;
  void judge();

  const Role role_;
  std::optional<PublicKey> channel_key_;
  std::vector<uint8_t> heard_;
};

}  // namespace heaptap::channel
