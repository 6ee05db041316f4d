// Symbol server for a poll() loop of one thread. Each client has one request at a time, served in turn; a client that doesn't read,
// violates the protocol or is silent for too long is dropped.
#pragma once
#include <poll.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "analysis/symbol_server/answers.h"
#include "common/channel/connection.h"
#include "common/channel/listener.h"
#include "common/message/common_messages.h"
#include "common/message/message.h"

namespace heaptap::symbol_server {

class Server {
 public:
  // Refused or dropped client, for the log.
  struct News {
    std::string peer;
    std::string why;
  };

  // `answers` must outlive this. Without a listener no client connects; see add().
  Server(std::optional<channel::Listener> listener, Answers& answers)
      : listener_(std::move(listener)), answers_(answers) {}

  // Adds a client over a ready connection that this side opened.
  void add(channel::Connection connection, channel::Time now);
  [[nodiscard]] size_t client_count() const { return clients_.size(); }
  void add_waits(std::vector<pollfd>& waits) const;
  // True: more work is ready, call again at once.
  bool proceed(channel::Time now);
  std::vector<News> take_news() { return std::exchange(news_, {}); }

 private:
  struct Client {
    channel::Connection connection;
    message::MessageReader reader{message::kMaxRequestBytes};
    std::string unsent;
    bool said_hello = false;
    channel::Time active_at;  // time of its last bytes, in either direction
  };

  void accept(channel::Time now);
  bool make_room(channel::Time now);
  // False: the client is to be removed.
  bool serve(Client& client, channel::Time now, bool& has_more);
  bool take(Client& client, const message::Message& message);
  static void send(Client& client, channel::Time now);
  bool drop(Client& client, const char* why);

  std::optional<channel::Listener> listener_;
  Answers& answers_;
  std::optional<channel::Connection> waiting_;  // accepted, not served until there is room
  std::list<Client> clients_;
  std::vector<News> news_;
};

}  // namespace heaptap::symbol_server
