// Multiplexer of several recordings at one address. Each session is a process of its own, so that sessions can't affect each
// other; the listening process learns the session of each connection, and then relays its bytes: encryption ends here.
//
//   host ══ connection ══▸ Switchboard ── pair of sockets ──▸ SwitchedConnections ▸ LineToHost        one of them for each session
//
// The other socket of a pair is passed to the session's process over a channel that lives as long as both.
#pragma once
#include <poll.h>
#include <sys/types.h>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/uplink/connection_source.h"
#include "capture/uplink/kept_rows.h"
#include "capture/uplink/refusals.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/channel/connection.h"
#include "common/line/line_news.h"
#include "common/line/reliable_line.h"
#include "common/model/row_table.h"

namespace heaptap::uplink {

// Connections of a session, in its process. Each connecting host has been verified as the session's own, or one that may take it over.
class SwitchedConnections : public ConnectionSource {
 public:
  // `switchboard`: this end of the channel.
  explicit SwitchedConnections(base::UniqueFd switchboard) : switchboard_(std::move(switchboard)) {}
  void add_waits(std::vector<pollfd>& waits) const override;
  std::optional<channel::Connection> next(bool is_alone, line::TimePoint now) override;
  // New name of the session, used by its host to reconnect: of the session that replaced another.
  void tell_session(const std::string& name);
  // Whether no further connection can come.
  [[nodiscard]] bool is_over() const { return !switchboard_; }
  // Reports what the session records.
  void tell_program(std::string_view name) const;
  // Passes unwind rows on to later sessions. If there is no room for them, they are requested again.
  void tell_rows(const std::string& build_id, const model::RowTable& rows) const;

 private:
  base::UniqueFd switchboard_;
};

class Switchboard {
 public:
  // Session requested by a host; its process must be created.
  struct NewSession {
    std::string name;
    base::UniqueFd connections;  // end of the channel for that process
  };

  Switchboard(std::unique_ptr<ConnectionSource> connections, size_t max_sessions)
      : connections_(std::move(connections)), max_sessions_(max_sessions) {}

  void add_waits(std::vector<pollfd>& waits) const;
  void proceed(line::TimePoint now);
  // Each once; then call begin() with its process, or report that there is none.
  std::optional<NewSession> next_session();
  void begin(const std::string& session, pid_t process);
  // Reason for rejecting new sessions, sent to hosts.
  void close_to_new(std::string why) { why_closed_ = std::move(why); }
  [[nodiscard]] std::vector<pid_t> processes() const;
  // Recorded programs, separated by commas; empty: none.
  [[nodiscard]] std::string programs() const;
  // Whether no session is active, and no host still waits for the rest of one.
  [[nodiscard]] bool is_idle() const { return sessions_.empty(); }
  // Rows received from sessions, for the process of a new one, which has a copy of all of this.
  KeptRows take_rows() { return std::exchange(rows_, {}); }
  // poll() timeout: the end of a process isn't signalled by a descriptor.
  [[nodiscard]] int longest_wait_ms() const;
  std::vector<line::LineNews> take_news();

 private:
  // Connection that hasn't named its session yet.
  struct Candidate {
    channel::Connection connection;
    line::TimePoint since;
    line::ReliableLine line{0};  // parses the greeting
    std::string heard = {};
    bool is_refused = false;
    bool is_over = false;
  };
  // Bytes received from one side and not yet taken by the other.
  struct Relay {
    channel::Connection host;
    channel::Connection session;
    std::string to_session;
    std::string to_host = {};
  };
  struct Session {
    std::string name;
    std::string host_key;  // of the host that began it; empty: all hosts count as one
    base::UniqueFd channel;
    pid_t process = 0;
    std::string program = {};
    std::optional<Relay> relay = {};
    std::optional<Relay> next_relay = {};  // of a host that wants to take over, until the session accepts it
    bool has_ended = false;
  };

  void take_candidates(line::TimePoint now);
  void judge(Candidate& candidate, line::TimePoint now);
  void refuse(Candidate& candidate, std::string_view why, line::TimePoint now);
  void make_session(Candidate& candidate, line::TimePoint now);
  void take_over(Candidate& candidate, line::TimePoint now);
  static void connect(Session& session, std::optional<Relay>& relay, Candidate& candidate, line::TimePoint now);
  static void pass_on(std::optional<Relay>& relay, line::TimePoint now);
  void rename(Session& session, std::string name);
  void hear(Session& session);
  void look_after(Session& session, line::TimePoint now);

  std::unique_ptr<ConnectionSource> connections_;
  const size_t max_sessions_;
  std::string why_closed_;
  std::list<Candidate> candidates_;
  std::list<Session> sessions_;
  std::list<NewSession> new_sessions_;
  Refusals refusals_;
  KeptRows rows_;
};

}  // namespace heaptap::uplink
