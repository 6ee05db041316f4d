// Answers clients of a channel, for a poll() loop of one thread. Each client has one request at a time under way, and gets its turn
// with the others; one that doesn't read, says nonsense or nothing for long is dropped.
#pragma once
#include <poll.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "channel/connection.h"
#include "channel/listener.h"
#include "control/message.h"
#include "symbol_server/answers.h"

namespace heaptap::symbol_server {

class Server {
 public:
  // A client that was refused or dropped, for a line of a log.
  struct News {
    std::string peer;
    std::string why;
  };

  // `answers` outlives this. Without a listener nobody comes; this side goes to a client, see add().
  Server(std::optional<channel::Listener> listener, Answers& answers)
      : listener_(std::move(listener)), answers_(answers) {}

  // A client that this side went to, over a connection that is ready.
  void add(channel::Connection connection, channel::Time now);
  [[nodiscard]] size_t client_count() const { return clients_.size(); }
  void add_waits(std::vector<pollfd>& waits) const;
  // True: there is more to be done at once.
  bool proceed(channel::Time now);
  std::vector<News> take_news() { return std::exchange(news_, {}); }

 private:
  struct Client {
    channel::Connection connection;
    control::MessageReader reader{control::kMaxRequestBytes};
    std::string unsent;
    bool said_hello = false;
    channel::Time active_at;  // it said something, or took something
  };

  void accept(channel::Time now);
  bool make_room(channel::Time now);
  // False: it is gone.
  bool serve(Client& client, channel::Time now, bool& has_more);
  bool take(Client& client, const control::Message& message);
  static void send(Client& client, channel::Time now);
  bool drop(Client& client, const char* why);

  std::optional<channel::Listener> listener_;
  Answers& answers_;
  std::optional<channel::Connection> waiting_;  // for room
  std::list<Client> clients_;
  std::vector<News> news_;
};

}  // namespace heaptap::symbol_server
