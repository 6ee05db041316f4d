// Connection: one end of a channel, non-blocking, for a poll() loop of one thread. After each poll() call proceed(), then read().
//
//   connecting ▸ greeting ▸ ready ▸ ending ▸ gone          gone is reachable from every state, with a reason
#pragma once
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/channel/address.h"
#include "common/channel/byte_queue.h"
#include "common/channel/security.h"
#include "common/channel/session.h"
#include "common/channel/socket_stream.h"

namespace heaptap::channel {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

class Connection {
 public:
  struct Limits {
    size_t max_outgoing_bytes = size_t{256} << 10;
    std::chrono::milliseconds greeting{10'000};  // maximum time until ready
    std::chrono::milliseconds ending{10'000};    // maximum time of ending
  };

  // Starts connecting. resolve() resolves a name.
  static base::Result<Connection> connect(const Address& address, const Security& security, const Limits& limits,
                                          Time now);
  // Over a connected socket, which becomes non-blocking. `peer` is for display.
  static base::Result<Connection> over(base::UniqueFd socket, std::unique_ptr<Session> session, std::string peer,
                                       const Limits& limits, Time now);
  // As above, with protection by these credentials; none: unprotected.
  static base::Result<Connection> over(base::UniqueFd socket, Role role, std::string peer,
                                       const std::optional<Credentials>& credentials, const Limits& limits, Time now);
  // For a TCP connection accepted by a listener, behind a front.
  static base::Result<Connection> behind_front(base::UniqueFd socket, std::string peer, const Credentials& credentials,
                                               const Limits& limits, Time now);

  // `wants_bytes`: false if the caller can't read now.
  void add_waits(std::vector<pollfd>& waits, bool wants_bytes = true) const;
  // Latest time of the next proceed().
  [[nodiscard]] std::optional<Time> deadline() const;
  // Connects, greets, sends, ends, as far as possible without waiting.
  void proceed(Time now);

  // Whether both sides have greeted, and authenticated each other where required.
  [[nodiscard]] bool is_ready() const { return phase_ == Phase::kReady; }
  // Appends received bytes, up to kMaxReadBytes; returns their number.
  size_t read(std::vector<uint8_t>& out);
  // Returns the number of bytes accepted: limited by the room, 0 before it is ready. They are sent by flush() or proceed().
  size_t write(std::span<const uint8_t> bytes);
  void flush();
  [[nodiscard]] size_t outgoing_bytes() const { return outgoing_.size() + session_->outgoing_bytes(); }
  [[nodiscard]] size_t room() const { return is_ready() ? outgoing_.room() : 0; }

  // Ends the connection: still sends what was written, followed by an end marker. Reads nothing any more; it is gone
  // when the other side has closed as well.
  void end(Time now);
  [[nodiscard]] bool is_gone() const { return phase_ == Phase::kGone; }
  // Gone because an end is the wrong peer: another attempt would end the same way.
  [[nodiscard]] bool is_refused() const { return is_gone() && session_->is_refused(); }
  // Reason for being gone: a sentence without a full stop, without the name of the peer.
  [[nodiscard]] const std::string& why() const { return why_; }
  // Gone at once, without notice to the other side.
  void drop(base::Error why);

  // The peer's address, and once ready the name of its key here.
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // Fingerprint of the peer's proven key; empty: no authentication, or by a token.
  [[nodiscard]] std::string peer_key() const { return session_->peer_key(); }
  // Null: none.
  [[nodiscard]] const PublicKey* channel_key() const { return session_->channel_key(); }

 private:
  enum class Phase : uint8_t { kConnecting, kGreeting, kReady, kEnding, kGone };

  Connection(base::UniqueFd socket, std::unique_ptr<Session> session, std::string peer, const Limits& limits)
      : stream_(std::move(socket)),
        session_(std::move(session)),
        outgoing_(limits.max_outgoing_bytes),
        peer_(std::move(peer)),
        limits_(limits) {}

  void begin_greeting();
  void finish_connecting();
  void greet();
  void go_on_ending();
  // Evaluates the session's state.
  void settle();

  SocketStream stream_;
  std::unique_ptr<Session> session_;
  ByteQueue outgoing_;
  std::string peer_;
  Limits limits_;
  bool has_front_ = false;  // it gets the socket once that is connected
  Phase phase_ = Phase::kConnecting;
  bool has_said_end_ = false;
  bool has_shut_down_ = false;
  std::optional<Time> deadline_;
  std::string why_;
};

}  // namespace heaptap::channel
