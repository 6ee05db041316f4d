// Reliable message line between two machines: exactly-once, in-order delivery over a sequence of connections. Sent messages are kept
// until the other end confirms them; on a new connection each end first sends its number of received messages, and gets the rest.
//
//   a connection   hello, kResume from each end, then messages; kReceived and kHeartbeat aren't counted, all others are
//
// Independent of sockets and clock: the caller passes bytes and times. Both ends work alike, except that the accepting
// one waits for the other's kResume before it names its session.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/intervals.h"
#include "common/message/message.h"

namespace heaptap::line {

using TimePoint = std::chrono::steady_clock::time_point;

inline constexpr size_t kSessionBytes = 16;
inline constexpr size_t kMaxMessageBytes = size_t{1} << 20;

// First message of a connection.
struct Greeting {
  uint32_t major = 0;
  uint32_t minor = 0;
  std::string session;      // empty: a new one
  uint64_t received = 0;    // messages of it received so far
  bool takes_over = false;  // wants an existing session
  bool by_force = false;    // even from a connected host
  uint64_t process = 0;     // of that process; 0: the only one
};

class ReliableLine {
 public:
  // has_room() is false once this many unconfirmed bytes are kept; urgent messages are kept beyond that.
  explicit ReliableLine(size_t max_kept_bytes) : max_kept_bytes_(max_kept_bytes) {}

  [[nodiscard]] const std::string& session() const { return session_; }
  void set_session(std::string session) { session_ = std::move(session); }
  // Requests a session that the other end began by itself.
  void set_takes_over(bool by_force, uint64_t process = 0) {
    takes_over_ = true;
    by_force_ = by_force;
    process_ = process;
  }

  // Without room, the caller stops producing deferrable messages.
  [[nodiscard]] bool has_room() const { return kept_bytes_ < max_kept_bytes_; }
  void send(const message::Message& message);
  // The other end's next message; each once.
  std::optional<message::Message> next();
  // Adds a message received elsewhere.
  void deliver(message::Message message) { arrived_.push_back(std::move(message)); }

  // Begins a connection: discards incomplete data of the previous one.
  void begin(TimePoint now);
  // Begins a connection whose peer has greeted already, elsewhere.
  void begin(const Greeting& greeting, TimePoint now);
  // Sends this end's greeting.
  void greet();
  // Sends a rejection in its place.
  void refuse(std::string_view why);
  // The other end's rejection; empty: none.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // A new peer, without any previous messages, replaces the other end.
  void forget_other_end();
  void end();
  [[nodiscard]] bool is_connected() const { return is_connected_; }
  // The other end's greeting, once received.
  [[nodiscard]] const std::optional<Greeting>& greeting() const { return greeting_; }
  // After both greetings: continues at the other end's position. False: not possible, since it never was at that position.
  bool resume();

  // Received bytes of the connection.
  void receive(std::string_view bytes, TimePoint now);
  // Bytes to send next, in order; about `most`.
  std::string take_outgoing(size_t most, TimePoint now);
  [[nodiscard]] bool has_outgoing(TimePoint now) const;
  // False: received data is not of this protocol.
  [[nodiscard]] bool is_sound() const { return is_sound_ && reader_.is_sound(); }
  // Whether the other end counts as dead for lack of data.
  [[nodiscard]] bool is_silent(TimePoint now) const { return now - heard_at_ > base::intervals().silence; }

  // Time of the last received data.
  [[nodiscard]] TimePoint heard_at() const { return heard_at_; }
  // Number of messages not yet confirmed by the other end.
  [[nodiscard]] size_t unconfirmed() const { return kept_.size(); }
  [[nodiscard]] size_t kept_bytes() const { return kept_bytes_; }
  // The unconfirmed messages as bytes; all messages ever sent, if none was confirmed.
  [[nodiscard]] const std::deque<std::string>& kept() const { return kept_; }
  [[nodiscard]] bool keeps_all() const { return first_kept_ == 0; }
  [[nodiscard]] uint64_t received() const { return received_; }
  // Number of messages ever sent, and of those confirmed by the other end.
  [[nodiscard]] uint64_t sent() const { return first_kept_ + kept_.size(); }
  [[nodiscard]] uint64_t confirmed() const { return first_kept_; }
  // Changes whenever messages got through in either direction, or a part of one arrived.
  [[nodiscard]] uint64_t progress() const { return first_kept_ + (received_ << 20) + reader_.waiting_bytes(); }

 private:
  bool confirm(uint64_t received);
  bool take_greeting(const message::Message& message);
  [[nodiscard]] bool is_report_due(TimePoint now) const;

  size_t max_kept_bytes_;
  std::string session_;
  bool takes_over_ = false;
  bool by_force_ = false;
  uint64_t process_ = 0;

  std::deque<std::string> kept_;
  size_t kept_bytes_ = 0;
  uint64_t first_kept_ = 0;  // number of the first one; messages are counted from 0
  size_t next_unsent_ = 0;   // of kept_

  std::deque<message::Message> arrived_;
  uint64_t received_ = 0;
  uint64_t claimed_ = 0;   // messages confirmed by the other end before this end could process that
  uint64_t reported_ = 0;  // last number confirmed to the other end
  size_t unreported_bytes_ = 0;

  bool is_connected_ = false;
  bool is_resumed_ = false;
  bool is_sound_ = true;
  bool said_hello_ = false;
  Greeting pending_;  // received so far
  std::string refusal_;
  std::optional<Greeting> greeting_;
  message::MessageReader reader_{kMaxMessageBytes};
  std::string urgent_;  // sent before messages
  TimePoint heard_at_;
  TimePoint said_at_;
  TimePoint reported_at_;
};

}  // namespace heaptap::line
