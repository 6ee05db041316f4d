// Listening end of a channel. Returns connections whose peers have greeted, and authenticated themselves where
// required; others are bounded in number, time and cost (common/channel/admission.h). For a poll() loop of one thread: after
// each poll() call proceed(), then next().
#pragma once
#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/channel/address.h"
#include "common/channel/admission.h"
#include "common/channel/connection.h"
#include "common/channel/quota.h"
#include "common/channel/security.h"
#include "common/channel/socket_file.h"

namespace heaptap::channel {

class Listener {
 public:
  // Failed attempt, for the log.
  struct FailedAttempt {
    std::string peer;
    std::string why;
    uint64_t others = 0;  // further ones since the last report, dropped by the rate limit
  };

  static base::Result<Listener> listen(const Address& address, const Security& security,
                                       const Connection::Limits& limits);

  // With the port chosen by the kernel, if 0 was requested.
  [[nodiscard]] const Address& address() const { return address_; }
  void add_waits(std::vector<pollfd>& waits) const;
  // Latest time of the next proceed().
  [[nodiscard]] std::optional<Time> deadline() const;
  // Accepts and greets, as far as possible without waiting.
  void proceed(Time now);

  // A ready connection. It may have received bytes already: read() it before the next poll().
  std::optional<Connection> next();
  std::optional<FailedAttempt> next_failed();
  // Number of connections being greeted.
  [[nodiscard]] size_t greeting_count() const { return greeting_.size(); }
  // Number of connections not served yet.
  [[nodiscard]] size_t waiting_count() const { return waiting_.size(); }

 private:
  struct Waiting {
    Admission::Id id;
    base::UniqueFd socket;
    std::string peer;
  };
  struct Greeting {
    Admission::Id id;
    Connection connection;
    bool is_over = false;
  };
  struct Peer {
    std::string name;
    std::string network;
    bool is_allowed = false;
  };

  Listener(base::UniqueFd socket, std::optional<SocketFile> file, Address address, const Security& security,
           const Connection::Limits& limits, uint32_t seed)
      : socket_(std::move(socket)),
        file_(std::move(file)),
        address_(std::move(address)),
        security_(security),
        credentials_(credentials_for(security_, Role::kListener, address_)),
        limits_(limits),
        admission_(seed) {}

  [[nodiscard]] bool accepts() const;
  void accept_some(Time now);
  void take(base::UniqueFd socket, const Peer& peer, Time now);
  void hear_some(Time now);
  base::Result<Connection> hear(Waiting waiting, Time now) const;
  // Drops a connection to make room for another.
  void send_away(Admission::Id id, Time now);
  void report(std::string peer, std::string why, Time now);
  [[nodiscard]] static Peer peer_of(const base::UniqueFd& socket, const sockaddr_storage& name);

  base::UniqueFd socket_;
  std::optional<SocketFile> file_;
  Address address_;
  Security security_;
  std::optional<Credentials> credentials_;
  Connection::Limits limits_;
  Admission admission_;
  Admission::Id next_id_ = 0;
  std::optional<Time> accepts_from_;  // while the machine had no room for another connection
  std::list<Waiting> waiting_;
  std::list<Greeting> greeting_;
  std::deque<Connection> ready_;
  std::deque<FailedAttempt> failed_;
  uint64_t unsaid_attempts_ = 0;
  Quota quota_;  // rate limit of their reports
};

}  // namespace heaptap::channel
