// Server of the control protocol, in the recorder. Never waits for clients: one that doesn't read, sends invalid data
// or is gone is dropped, without effect on the recording.
#pragma once
#include <poll.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/message/common_messages.h"
#include "common/message/message.h"

namespace heaptap::recordings {

class Server {
 public:
  struct Request {
    uint64_t client = 0;  // recipient of the answer
    message::Message message;
  };

  // For the clients.
  void add_waits(std::vector<pollfd>& waits) const;
  // Accepts pending connections of a listening socket.
  void accept_from(int listening);
  // Requests of clients, one at a time, until none is left in this round.
  std::optional<Request> next_request();

  void answer(uint64_t client, uint64_t number, const message::Fields& fields);
  // `file` is sent along; it stays the caller's.
  void answer(uint64_t client, uint64_t number, const message::Fields& fields, int file);
  void refuse(uint64_t client, uint64_t number, const base::Error& why);
  void subscribe(uint64_t client);
  // To all subscribers.
  void tell(const message::Fields& news);
  [[nodiscard]] size_t client_count() const { return clients_.size(); }

 private:
  struct Outgoing {
    std::string bytes;
    base::UniqueFd file;  // sent with the first byte
  };
  struct Client {
    uint64_t id = 0;
    base::UniqueFd connection;
    message::MessageReader reader{message::kMaxRequestBytes};
    bool said_hello = false;
    bool has_asked = false;
    bool subscribed = false;
    bool is_gone = false;
    bool is_half_closed = false;  // sends nothing more, but may still read
    std::list<Outgoing> outgoing;
    size_t outgoing_bytes = 0;
    uint64_t asked_last = 0;  // request counter: the least recently served client goes first
  };

  bool make_room();
  void read_from(Client& client);
  std::optional<message::Message> next_of(Client& client);
  void take_hello(Client& client, const message::Message& message);
  void send(Client& client, const message::Message& message, int file);
  static void flush(Client& client);
  Client* find(uint64_t id);
  void drop_gone();

  std::list<Client> clients_;
  uint64_t last_id_ = 0;
  uint64_t requests_ = 0;
};

}  // namespace heaptap::recordings
