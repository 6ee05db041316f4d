#include "record/recordings/server.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "common/base/descriptor_message.h"
#include "common/control/control_messages.h"
#include "common/endpoint/address.h"
#include "common/message/common_messages.h"

namespace heaptap::recordings {
namespace {

constexpr size_t kMaxClients = 32;
constexpr size_t kMaxOutgoingBytes = size_t{1} << 20;  // a client with more unread bytes is disconnected

}  // namespace

void Server::add_waits(std::vector<pollfd>& waits) const {
  for (const Client& client : clients_) {
    const int wanted = (client.is_half_closed ? 0 : POLLIN) | (client.outgoing.empty() ? 0 : POLLOUT);
    waits.push_back({client.connection.get(), static_cast<short>(wanted), 0});
  }
}

void Server::accept_from(int listening) {
  for (size_t taken = 0; listening >= 0 && taken < kMaxClients; ++taken) {
    base::UniqueFd connection(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) return;
    if (!endpoint::may_ask(connection.get())) continue;
    if (clients_.size() >= kMaxClients && !make_room()) continue;
    Client& client = clients_.emplace_back();
    client.id = ++last_id_;
    client.connection = std::move(connection);
    client.asked_last = ++requests_;
    send(client, message::hello(), -1);
  }
}

// Among clients that never sent a request, the first one is disconnected; a client that did may wait for news for ever.
bool Server::make_room() {
  const auto silent = std::ranges::find(clients_, false, &Client::has_asked);
  if (silent == clients_.end()) return false;
  clients_.erase(silent);
  return true;
}

std::optional<Server::Request> Server::next_request() {
  for (Client& client : clients_) {
    flush(client);
    if (!client.is_gone) read_from(client);
  }
  drop_gone();
  // Round-robin, so that a busy client doesn't starve the others.
  std::vector<Client*> turns;
  for (Client& client : clients_) turns.push_back(&client);
  std::ranges::sort(turns, {}, &Client::asked_last);
  for (Client* const client : turns) {
    if (auto message = next_of(*client)) {
      client->asked_last = ++requests_;
      client->has_asked = true;
      return Request{client->id, *std::move(message)};
    }
  }
  drop_gone();
  return std::nullopt;
}

void Server::read_from(Client& client) {
  constexpr size_t kPieceBytes = size_t{16} << 10;
  std::array<char, kPieceBytes> piece;
  // At most one request at a time: further ones wait in the socket.
  if (client.is_half_closed || client.reader.waiting_bytes() > message::kMaxRequestBytes) return;
  const ssize_t bytes = recv(client.connection.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (bytes > 0) {
    client.reader.add({piece.data(), static_cast<size_t>(bytes)});
  } else if (bytes == 0) {
    client.is_half_closed = true;
  } else if (errno != EAGAIN && errno != EINTR) {
    client.is_gone = true;
  }
}

std::optional<message::Message> Server::next_of(Client& client) {
  while (auto message = client.reader.next()) {
    if (client.said_hello && message->kind != message::CommonKind::kHello) return message;
    take_hello(client, *message);
    if (client.is_gone) return std::nullopt;
  }
  const bool has_left = client.is_half_closed && client.outgoing.empty();
  client.is_gone = client.is_gone || !client.reader.is_sound() || has_left;
  return std::nullopt;
}

void Server::take_hello(Client& client, const message::Message& message) {
  client.is_gone = !message::is_hello_of_this_version(message) || client.said_hello;
  client.said_hello = true;
}

void Server::answer(uint64_t client, uint64_t number, const message::Fields& fields) {
  answer(client, number, fields, -1);
}

void Server::answer(uint64_t client, uint64_t number, const message::Fields& fields, int file) {
  if (Client* const found = find(client)) send(*found, message::answer_to(number, fields), file);
}

void Server::refuse(uint64_t client, uint64_t number, const base::Error& why) {
  if (Client* const found = find(client)) send(*found, message::refusal_of(number, why), -1);
}

void Server::subscribe(uint64_t client) {
  if (Client* const found = find(client)) found->subscribed = true;
}

void Server::tell(const message::Fields& news) {
  for (Client& client : clients_) {
    if (client.subscribed) send(client, {control::Kind::kNews, 0, news}, -1);
  }
}

void Server::send(Client& client, const message::Message& message, int file) {
  Outgoing outgoing{message::encode(message), base::UniqueFd(file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 0))};
  client.outgoing_bytes += outgoing.bytes.size();
  client.outgoing.push_back(std::move(outgoing));
  flush(client);
  client.is_gone = client.is_gone || client.outgoing_bytes > kMaxOutgoingBytes;
}

void Server::flush(Client& client) {
  while (!client.outgoing.empty() && !client.is_gone) {
    Outgoing& first = client.outgoing.front();
    const ssize_t sent = base::send_message(client.connection.get(), first.bytes, first.file.get(), MSG_DONTWAIT);
    if (sent < 0) {
      client.is_gone = errno != EAGAIN && errno != EINTR && errno != ENOBUFS;
      return;
    }
    first.file.reset();
    first.bytes.erase(0, static_cast<size_t>(sent));
    client.outgoing_bytes -= static_cast<size_t>(sent);
    if (first.bytes.empty()) client.outgoing.pop_front();
  }
}

Server::Client* Server::find(uint64_t id) {
  const auto found = std::ranges::find(clients_, id, &Client::id);
  return found == clients_.end() ? nullptr : &*found;
}

void Server::drop_gone() {
  std::erase_if(clients_, [](const Client& client) { return client.is_gone; });
}

}  // namespace heaptap::recordings
