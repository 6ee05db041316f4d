#include "analysis/symbol_server/server.h"

#include <algorithm>
#include <span>
#include <utility>

#include "common/base/byte_span.h"

namespace heaptap::symbol_server {
namespace {

using message::Message;

constexpr size_t kMaxClients = 32;
constexpr std::chrono::seconds kLongestUnread{30};   // of an answer
constexpr std::chrono::minutes kLongestSilence{10};  // of a client
constexpr size_t kMaxNews = 100;

}  // namespace

void Server::add_waits(std::vector<pollfd>& waits) const {
  if (listener_) listener_->add_waits(waits);
  for (const Client& client : clients_) client.connection.add_waits(waits, client.unsent.empty());
}

void Server::add(channel::Connection connection, channel::Time now) {
  clients_.push_back({.connection = std::move(connection),
                      .reader = message::MessageReader(message::kMaxRequestBytes),
                      .unsent = {},
                      .said_hello = false,
                      .active_at = now});
}

void Server::accept(channel::Time now) {
  listener_->proceed(now);
  while (const auto failed = listener_->next_failed()) {
    if (news_.size() < kMaxNews) news_.push_back({failed->peer, failed->why});
  }
  while (waiting_ || (waiting_ = listener_->next())) {
    if (clients_.size() == kMaxClients && !make_room(now)) break;
    add(*std::exchange(waiting_, std::nullopt), now);
  }
}

bool Server::proceed(channel::Time now) {
  if (listener_) accept(now);
  bool has_more = false;
  std::erase_if(clients_, [&](Client& client) { return !serve(client, now, has_more); });
  return has_more;
}

// The connection that has been idle for longest is closed.
bool Server::make_room(channel::Time now) {
  constexpr std::chrono::seconds kLeastSilence{5};
  const auto idle = std::ranges::min_element(clients_, {}, &Client::active_at);
  if (now - idle->active_at < kLeastSilence) return false;
  clients_.erase(idle);
  return true;
}

// At most one request of it: then the next connection has its turn.
bool Server::serve(Client& client, channel::Time now, bool& has_more) {
  client.connection.proceed(now);
  send(client, now);
  if (client.unsent.empty()) {
    std::vector<uint8_t> came;
    if (client.connection.read(came) > 0) {
      client.active_at = now;
      client.reader.add({reinterpret_cast<const char*>(came.data()), came.size()});
    }
    if (const auto message = client.reader.next()) {
      if (!take(client, *message)) return drop(client, "invalid request");
      send(client, now);
      has_more = true;
    }
  }
  if (!client.reader.is_sound()) return drop(client, "invalid message");
  if (client.connection.is_gone()) return false;
  if (!client.unsent.empty() && now - client.active_at > kLongestUnread) return drop(client, "it doesn't read answers");
  return now - client.active_at <= kLongestSilence;
}

bool Server::take(Client& client, const Message& message) {
  if (!client.said_hello) {
    client.said_hello = true;
    client.unsent = message::encode(message::hello());
    return message::is_hello_of_this_version(message);
  }
  if (message.kind == message::CommonKind::kHello || message.number == 0) return false;
  auto answer = answers_.answer(message);
  client.unsent = message::encode(answer ? message::answer_to(message.number, *std::move(answer))
                                         : message::refusal_of(message.number, answer.error()));
  return true;
}

void Server::send(Client& client, channel::Time now) {
  while (!client.unsent.empty()) {
    const size_t taken = client.connection.write(base::bytes_of(client.unsent));
    if (taken == 0) break;
    client.unsent.erase(0, taken);
    client.active_at = now;
  }
  client.connection.flush();
}

bool Server::drop(Client& client, const char* why) {
  if (news_.size() < kMaxNews) news_.push_back({client.connection.peer(), why});
  return false;
}

}  // namespace heaptap::symbol_server
