// One end of a channel, for a poll() loop of one thread: nothing here waits. After each poll() call proceed(), then read().
//
//   connecting ▸ greeting ▸ ready ▸ ending ▸ gone          gone from everywhere, with a reason
#pragma once
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "channel/address.h"
#include "channel/byte_queue.h"
#include "channel/security.h"
#include "channel/session.h"
#include "channel/socket_stream.h"

namespace heaptap::channel {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

class Connection {
 public:
  struct Limits {
    size_t max_outgoing_bytes = size_t{256} << 10;
    std::chrono::milliseconds greeting{10'000};  // until it is ready
    std::chrono::milliseconds ending{10'000};    // until it is gone, once it is to end
  };

  // Begins to connect. Of a name resolve() makes addresses.
  static base::Result<Connection> connect(const Address& address, const Security& security, const Limits& limits,
                                          Time now);
  // Over a socket that is connected; it becomes non-blocking. `peer` is for people.
  static base::Result<Connection> over(base::UniqueFd socket, std::unique_ptr<Session> session, std::string peer,
                                       const Limits& limits, Time now);
  // The same of one that is protected as these say; none: not at all.
  static base::Result<Connection> over(base::UniqueFd socket, Role role, std::string peer,
                                       const std::optional<Credentials>& credentials, const Limits& limits, Time now);
  // One that came to a listener over TCP, behind a front.
  static base::Result<Connection> behind_front(base::UniqueFd socket, std::string peer, const Credentials& credentials,
                                               const Limits& limits, Time now);

  // `wants_bytes`: false if the caller doesn't want to read now.
  void add_waits(std::vector<pollfd>& waits, bool wants_bytes = true) const;
  // When proceed() has to be called at the latest.
  [[nodiscard]] std::optional<Time> deadline() const;
  // Connects, greets, sends, ends, as far as it goes.
  void proceed(Time now);

  // Both sides have greeted, and proved who they are where that is asked for.
  [[nodiscard]] bool is_ready() const { return phase_ == Phase::kReady; }
  // Adds what came, at most kMaxReadBytes; says how much.
  size_t read(std::vector<uint8_t>& out);
  // How many bytes were taken: as many as there is room for, none before it is ready. They go with flush() or proceed().
  size_t write(std::span<const uint8_t> bytes);
  void flush();
  [[nodiscard]] size_t outgoing_bytes() const { return outgoing_.size() + session_->outgoing_bytes(); }
  [[nodiscard]] size_t room() const { return is_ready() ? outgoing_.room() : 0; }

  // What was written is still sent, and the other side told that it was all. Nothing is read any more; it is gone when the other
  // side has hung up, too.
  void end(Time now);
  [[nodiscard]] bool is_gone() const { return phase_ == Phase::kGone; }
  // Gone as one of the sides wanted; otherwise something failed.
  [[nodiscard]] bool has_ended_in_order() const { return has_ended_in_order_; }
  // Gone since who is at the ends is not whom they want: another attempt ends as this one did.
  [[nodiscard]] bool is_refused() const { return is_gone() && session_->is_refused(); }
  // Why it is gone: a sentence without a full stop, without the name of the peer.
  [[nodiscard]] const std::string& why() const { return why_; }
  // Gone at once, without a word to the other side.
  void drop(base::Error why);

  // Its address, and once it is ready the name that its key has here.
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // The fingerprint of the key that it has proved; empty: none was asked for, or both have one token.
  [[nodiscard]] std::string peer_key() const { return session_->peer_key(); }
  // Null: there is none.
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
  // What the session's state means.
  void settle();
  void end_in_order(base::Error why);

  SocketStream stream_;
  std::unique_ptr<Session> session_;
  ByteQueue outgoing_;
  std::string peer_;
  Limits limits_;
  bool has_front_ = false;  // it takes the socket once that is connected
  Phase phase_ = Phase::kConnecting;
  bool has_said_end_ = false;
  bool has_shut_down_ = false;
  bool has_ended_in_order_ = false;
  std::optional<Time> deadline_;
  std::string why_;
};

}  // namespace heaptap::channel
