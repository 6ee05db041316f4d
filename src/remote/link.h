// A line over the connection that it has just now, for a poll() loop of one thread: bytes go back and forth as far as they can
// without waiting.
#pragma once
#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "channel/connection.h"
#include "remote/reliable_line.h"

namespace heaptap::remote {

inline constexpr int kPauseMs = 20;  // of a wait in poll(), after which it is looked whether it goes on

class Link {
 public:
  explicit Link(size_t most_kept_bytes) : line_(most_kept_bytes) {}

  [[nodiscard]] ReliableLine& line() { return line_; }
  [[nodiscard]] const ReliableLine& line() const { return line_; }

  // From now on it is this one. `greets`: this end says first whose line it is.
  void take(channel::Connection connection, bool greets, TimePoint now);
  // One that `other` has, whose other end greeted there: this end greets, and the line goes on. False: it can't.
  bool take_over(Link& other, TimePoint now);
  // Says in place of a greeting why there is no line for the other end, and hangs up.
  void refuse(std::string_view why, TimePoint now);
  // The connection is over, for a reason.
  void drop(std::string why);
  [[nodiscard]] bool has_connection() const { return connection_.has_value(); }
  // Only its end is waited for.
  [[nodiscard]] bool is_refused() const { return is_refused_; }
  // Messages go over it: both ends have said where they are.
  [[nodiscard]] bool is_up() const { return is_up_; }
  void set_up() { is_up_ = true; }
  // The last connection ended since its ends are not whom they want.
  [[nodiscard]] bool is_stranger() const { return is_stranger_; }
  // Why the last connection ended.
  [[nodiscard]] const std::string& why_down() const { return why_down_; }
  [[nodiscard]] std::string peer_key() const { return connection_ ? connection_->peer_key() : std::string(); }
  [[nodiscard]] std::string peer() const { return connection_ ? connection_->peer() : std::string(); }

  void add_waits(std::vector<pollfd>& waits) const;
  void proceed(TimePoint now);
  // Stays until all that was said has been sent, or it can't be; at most until then.
  void flush(TimePoint until);

 private:
  void send(TimePoint now);

  ReliableLine line_;
  std::optional<channel::Connection> connection_;
  std::string unsent_;  // taken from the line, not taken by the connection
  bool is_up_ = false;
  bool is_refused_ = false;
  bool is_stranger_ = false;
  std::string why_down_;
};

}  // namespace heaptap::remote
