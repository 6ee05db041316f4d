// The end of a channel that others connect to. Hands out connections whose peers have greeted, and proved who they are where that
// is asked for; those that haven't yet are bounded in number, time and cost (channel/admission.h). For a poll() loop of one thread:
// after each poll() call proceed(), then take what is there.
#pragma once
#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "channel/address.h"
#include "channel/admission.h"
#include "channel/connection.h"
#include "channel/quota.h"
#include "channel/security.h"
#include "channel/socket_file.h"

namespace heaptap::channel {

class Listener {
 public:
  // One that didn't get in, for a line of a log.
  struct FailedAttempt {
    std::string peer;
    std::string why;
    uint64_t others = 0;  // since the last one, of which nothing else is said: they were too many
  };

  static base::Result<Listener> listen(const Address& address, const Security& security,
                                       const Connection::Limits& limits);

  // With the port that the kernel chose, if 0 was asked for.
  [[nodiscard]] const Address& address() const { return address_; }
  void add_waits(std::vector<pollfd>& waits) const;
  // When proceed() has to be called at the latest.
  [[nodiscard]] std::optional<Time> deadline() const;
  // Accepts and greets, as far as it goes.
  void proceed(Time now);

  // One that is ready. It may have sent something already: read() it before the next poll(), or poll().
  std::optional<Connection> next();
  std::optional<FailedAttempt> next_failed();
  // Connections that haven't greeted.
  [[nodiscard]] size_t greeting_count() const { return greeting_.size(); }
  // Those that nobody hears yet.
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
           const Connection::Limits& limits, uint32_t chance)
      : socket_(std::move(socket)),
        file_(std::move(file)),
        address_(std::move(address)),
        security_(security),
        credentials_(credentials_for(security_, Role::kListener, address_)),
        limits_(limits),
        admission_(chance) {}

  [[nodiscard]] bool accepts() const;
  void accept_some(Time now);
  void take(base::UniqueFd socket, const Peer& peer, Time now);
  void hear_some(Time now);
  base::Result<Connection> hear(Waiting waiting, Time now) const;
  // One that makes room for another one.
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
  std::optional<Time> accepts_from_;  // the machine had no room for another connection
  std::list<Waiting> waiting_;
  std::list<Greeting> greeting_;
  std::deque<Connection> ready_;
  std::deque<FailedAttempt> failed_;
  uint64_t unsaid_attempts_ = 0;
  Quota quota_;  // of what is said of them
};

}  // namespace heaptap::channel
