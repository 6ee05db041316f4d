// Messages between two machines that arrive once each and in order, over connections that end. What was sent is kept until the other
// end says that it has it; over the next connection each end begins with how many messages it has received, and gets the others.
//
//   a connection   hello, kResume from each end, then messages; kReceived and kHeartbeat aren't counted, all others are
//
// Knows no sockets and no clock: bytes and times are the caller's. Both ends are alike, but that the one that answers waits for the
// other's kResume before it says whose line it is.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/intervals.h"
#include "control/message.h"

namespace heaptap::remote {

using TimePoint = std::chrono::steady_clock::time_point;

inline constexpr size_t kSessionBytes = 16;
inline constexpr size_t kMaxMessageBytes = size_t{1} << 20;

// What a connection begins with.
struct Greeting {
  uint32_t major = 0;
  uint32_t minor = 0;
  std::string session;      // empty: a new one
  uint64_t received = 0;    // messages of it
  bool takes_over = false;  // it wants a session that goes on already
  bool by_force = false;    // also from a host that is there
  uint64_t process = 0;     // which one: of this process; 0: the only one
};

class ReliableLine {
 public:
  // So many bytes that the other end doesn't have yet are kept before has_room() says no; messages that can't wait come on top.
  explicit ReliableLine(size_t most_kept_bytes) : most_kept_bytes_(most_kept_bytes) {}

  [[nodiscard]] const std::string& session() const { return session_; }
  void set_session(std::string session) { session_ = std::move(session); }
  // A new session is to be one that the other end began by itself.
  void set_takes_over(bool by_force, uint64_t process = 0) {
    takes_over_ = true;
    by_force_ = by_force;
    process_ = process;
  }

  // What can wait waits while there is no room: the caller stops producing it.
  [[nodiscard]] bool has_room() const { return kept_bytes_ < most_kept_bytes_; }
  void send(const control::Message& message);
  // The next message of the other end; each once.
  std::optional<control::Message> next();
  // One that came elsewhere than over a connection.
  void deliver(control::Message message) { arrived_.push_back(std::move(message)); }

  // A connection begins: what was under way on the one before is forgotten.
  void begin(TimePoint now);
  // The same of one whose other end has greeted already, elsewhere.
  void begin(const Greeting& greeting, TimePoint now);
  // Says this end's greeting.
  void greet();
  // In place of that: there is no line for the other end.
  void refuse(std::string_view why);
  // What the other end said in place of a greeting; empty: nothing.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // Another one takes the other end's place, which has neither sent nor received anything.
  void forget_other_end();
  void end();
  [[nodiscard]] bool is_connected() const { return is_connected_; }
  // The other end's, once it is there.
  [[nodiscard]] const std::optional<Greeting>& greeting() const { return greeting_; }
  // Behind both greetings: goes on where the other end is. False: that isn't possible, it never was there.
  bool resume();

  // Bytes of the connection.
  void receive(std::string_view bytes, TimePoint now);
  // To be sent next, in order; about `most` of them.
  std::string take_outgoing(size_t most, TimePoint now);
  [[nodiscard]] bool has_outgoing(TimePoint now) const;
  // What came is no message of this protocol.
  [[nodiscard]] bool is_sound() const { return is_sound_ && reader_.is_sound(); }
  // Nothing came for so long that nobody is there any more.
  [[nodiscard]] bool is_silent(TimePoint now) const { return now - heard_at_ > base::intervals().silence; }

  // When something came last.
  [[nodiscard]] TimePoint heard_at() const { return heard_at_; }
  // Messages that the other end doesn't have yet, as far as is known.
  [[nodiscard]] size_t unconfirmed() const { return kept_.size(); }
  [[nodiscard]] size_t kept_bytes() const { return kept_bytes_; }
  // Those of unconfirmed() as bytes; all that were ever sent, where none was confirmed.
  [[nodiscard]] const std::deque<std::string>& kept() const { return kept_; }
  [[nodiscard]] bool keeps_all() const { return first_kept_ == 0; }
  [[nodiscard]] uint64_t received() const { return received_; }
  // Messages that were ever sent, and how many of them the other end is known to have.
  [[nodiscard]] uint64_t sent() const { return first_kept_ + kept_.size(); }
  [[nodiscard]] uint64_t confirmed() const { return first_kept_; }
  // Another number than before: messages got through, one way or the other, or a part of one came.
  [[nodiscard]] uint64_t progress() const { return first_kept_ + (received_ << 20) + reader_.waiting_bytes(); }

 private:
  bool confirm(uint64_t received);
  bool take_greeting(const control::Message& message);
  [[nodiscard]] bool is_report_due(TimePoint now) const;

  size_t most_kept_bytes_;
  std::string session_;
  bool takes_over_ = false;
  bool by_force_ = false;
  uint64_t process_ = 0;

  std::deque<std::string> kept_;
  size_t kept_bytes_ = 0;
  uint64_t first_kept_ = 0;  // its number: messages are counted from 0
  size_t next_unsent_ = 0;   // of kept_

  std::deque<control::Message> arrived_;
  uint64_t received_ = 0;
  uint64_t claimed_ = 0;   // messages that the other end said to have, before this end was ready to hear it
  uint64_t reported_ = 0;  // of these the other end was told
  size_t unreported_bytes_ = 0;

  bool is_connected_ = false;
  bool is_resumed_ = false;
  bool is_sound_ = true;
  bool said_hello_ = false;
  Greeting pending_;  // so far
  std::string refusal_;
  std::optional<Greeting> greeting_;
  control::MessageReader reader_{kMaxMessageBytes};
  std::string urgent_;  // goes before messages
  TimePoint heard_at_;
  TimePoint said_at_;
  TimePoint reported_at_;
};

}  // namespace heaptap::remote
