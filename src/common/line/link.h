// Line with its current connection, for a poll() loop of one thread: transfers bytes without blocking.
#pragma once
#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/channel/connection.h"
#include "common/line/reliable_line.h"

namespace heaptap::line {

inline constexpr int kPauseMs = 20;  // maximum wait in poll() before conditions are checked again

class Link {
 public:
  explicit Link(size_t max_kept_bytes) : line_(max_kept_bytes) {}

  [[nodiscard]] ReliableLine& line() { return line_; }
  [[nodiscard]] const ReliableLine& line() const { return line_; }

  // Sets the connection. `greets`: this end names the session first.
  void take(channel::Connection connection, bool greets, TimePoint now);
  // Takes the connection of `other`, whose peer has greeted there: this end greets, and the line continues. False: not possible.
  bool take_over(Link& other, TimePoint now);
  // Rejects the other end with a reason in place of a greeting, and closes.
  void refuse(std::string_view why, TimePoint now);
  // Drops the connection, with a reason.
  void drop(std::string why);
  [[nodiscard]] bool has_connection() const { return connection_.has_value(); }
  // Whether it was rejected and is only waiting to close.
  [[nodiscard]] bool is_refused() const { return is_refused_; }
  // Whether messages are transferred: both ends have sent their positions.
  [[nodiscard]] bool is_up() const { return is_up_; }
  void set_up() { is_up_ = true; }
  // Whether the last connection ended because an end was the wrong peer.
  [[nodiscard]] bool is_stranger() const { return is_stranger_; }
  // Reason for the end of the last connection.
  [[nodiscard]] const std::string& why_down() const { return why_down_; }
  [[nodiscard]] std::string peer_key() const { return connection_ ? connection_->peer_key() : std::string(); }
  [[nodiscard]] std::string peer() const { return connection_ ? connection_->peer() : std::string(); }

  void add_waits(std::vector<pollfd>& waits) const;
  void proceed(TimePoint now);
  // Sends all queued data, until done, failed, or this time.
  void flush(TimePoint until);

 private:
  void send(TimePoint now);

  ReliableLine line_;
  std::optional<channel::Connection> connection_;
  std::string unsent_;  // taken from the line, not sent yet
  bool is_up_ = false;
  bool is_refused_ = false;
  bool is_stranger_ = false;
  std::string why_down_;
};

}  // namespace heaptap::line
