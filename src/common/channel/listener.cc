#include "common/channel/listener.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>

#include "common/base/socket_peer.h"
#include "common/channel/failure.h"
#include "common/channel/front.h"
#include "common/channel/random.h"
#include "common/channel/tls_session.h"

namespace heaptap::channel {
namespace {

constexpr int kBacklog = 16;
constexpr size_t kMaxReady = 16;   // not accepted by the caller
constexpr size_t kMaxFailed = 64;  // not wanted by the caller
constexpr int kMaxAccepted = 64;   // in a row
constexpr std::chrono::seconds kRest{1};

void set_option(const base::UniqueFd& socket, int level, int option) {
  const int on = 1;
  (void)setsockopt(socket.get(), level, option, &on, sizeof(on));
}

base::Result<base::UniqueFd> bind_port(base::UniqueFd socket, const Address& address, const SocketAddress& name) {
  // SO_REUSEADDR permits listening after connections have ended; [::] doesn't include IPv4.
  set_option(socket, SOL_SOCKET, SO_REUSEADDR);
  if (name.storage.ss_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY);
  if (::bind(socket.get(), name.get(), name.bytes) == 0) return socket;
  const int error = errno;
  const std::string what = make_error({"can't listen at ", address.to_text(), ": ", base::reason_of(error)}).message;
  if (error == EADDRINUSE)
    return fail({what, "; another process listens there: use another port, or 0 for any free one"});
  if (error == EACCES) return fail({what, "; use a port above 1023"});
  return fail({what, "; `ip addr` lists this machine's addresses"});
}

Address bound_address(const base::UniqueFd& socket, const Address& wanted) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof(name);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &bytes) != 0) return wanted;
  return Address::of_socket(reinterpret_cast<const sockaddr*>(&name)).value_or(wanted);
}

}  // namespace

base::Result<Listener> Listener::listen(const Address& address, const Security& security,
                                        const Connection::Limits& limits) {
  HEAPTAP_TRY(check(security, address));
  const auto name = address.to_socket();
  if (!name)
    return fail({"'", address.to_text(), "' is a host name: give the IP address to listen on, or 0.0.0.0 for all"});
  base::UniqueFd socket(::socket(name->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail({"can't make a socket for ", address.to_text(), ": ", base::reason_of(errno)});
  std::optional<SocketFile> file;
  if (address.is_file()) {
    auto bound = SocketFile::bind(socket, address);
    if (!bound) return std::unexpected(bound.error());
    file.emplace(*std::move(bound));
  } else {
    auto bound = bind_port(std::move(socket), address, *name);
    if (!bound) return std::unexpected(bound.error());
    socket = *std::move(bound);
  }
  if (::listen(socket.get(), kBacklog) != 0) {
    return fail({"can't listen at ", address.to_text(), ": ", base::reason_of(errno), "; use another port"});
  }
  Address bound = bound_address(socket, address);
  std::array<uint8_t, sizeof(uint32_t)> seed{};
  HEAPTAP_TRY(fill_random(seed));
  return Listener(std::move(socket), std::move(file), std::move(bound), security, limits,
                  std::bit_cast<uint32_t>(seed));
}

void Listener::add_waits(std::vector<pollfd>& waits) const {
  if (accepts()) waits.push_back({socket_.get(), POLLIN, 0});
  // A waiting connection isn't read; if the peer closes it, this is noticed when its turn comes.
  for (const Greeting& greeting : greeting_) greeting.connection.add_waits(waits);
}

bool Listener::accepts() const { return !accepts_from_ && ready_.size() < kMaxReady; }

std::optional<Time> Listener::deadline() const {
  std::optional<Time> first = accepts_from_;
  if (const auto turn = admission_.deadline()) first = std::min(first.value_or(*turn), *turn);
  for (const Greeting& greeting : greeting_) {
    if (const auto other = greeting.connection.deadline()) first = std::min(first.value_or(*other), *other);
  }
  return first;
}

void Listener::proceed(Time now) {
  if (accepts_from_ && now >= *accepts_from_) accepts_from_.reset();
  accept_some(now);
  hear_some(now);
  reap_fronts();
  for (Greeting& greeting : greeting_) {
    Connection& connection = greeting.connection;
    connection.proceed(now);
    if (connection.is_gone()) {
      report(connection.peer(), connection.why(), now);
      admission_.left(greeting.id);
    }
    if (!connection.is_ready()) continue;
    admission_.succeeded(greeting.id, now);
    ready_.push_back(std::move(connection));
    greeting.is_over = true;
  }
  greeting_.remove_if([](const Greeting& greeting) { return greeting.is_over || greeting.connection.is_gone(); });
}

void Listener::accept_some(Time now) {
  for (int taken = 0; taken < kMaxAccepted && accepts(); ++taken) {
    sockaddr_storage name{};
    socklen_t bytes = sizeof(name);
    base::UniqueFd socket(
        accept4(socket_.get(), reinterpret_cast<sockaddr*>(&name), &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      const Peer peer = peer_of(socket, name);
      take(std::move(socket), peer, now);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      report("?", make_error({"can't accept a connection: ", base::reason_of(errno)}).message, now);
      accepts_from_ = now + kRest;
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;
    }
  }
}

Listener::Peer Listener::peer_of(const base::UniqueFd& socket, const sockaddr_storage& name) {
  if (const auto address = Address::of_socket(reinterpret_cast<const sockaddr*>(&name))) {
    return {address->to_text(), address->network(), true};
  }
  const auto user = base::user_of_peer(socket.get());
  const std::string number = user ? std::to_string(*user) : "?";
  return {join({"user ", number}), join({"user ", number}), base::is_own_user_or_root(user)};
}

void Listener::take(base::UniqueFd socket, const Peer& peer, Time now) {
  if (!peer.is_allowed) return report(peer.name, make_error({"other users may not connect here"}).message, now);
  const Admission::Id id = next_id_++;
  waiting_.push_back({.id = id, .socket = std::move(socket), .peer = peer.name});
  if (const auto goes = admission_.add(id, peer.network, now)) send_away(*goes, now);
  hear_some(now);
}

void Listener::hear_some(Time now) {
  while (const auto turn = admission_.next(now)) {
    if (turn->goes) send_away(*turn->goes, now);
    const auto found = std::ranges::find(waiting_, turn->heard, &Waiting::id);
    Waiting waiting = std::move(*found);
    waiting_.erase(found);
    const std::string peer = waiting.peer;
    auto connection = hear(std::move(waiting), now);
    if (connection) {
      greeting_.push_back({.id = turn->heard, .connection = *std::move(connection)});
    } else {
      admission_.left(turn->heard);
      report(peer, connection.error().message, now);
    }
  }
}

base::Result<Connection> Listener::hear(Waiting waiting, Time now) const {
  if (credentials_ && !address_.is_file()) {
    return Connection::behind_front(std::move(waiting.socket), std::move(waiting.peer), *credentials_, limits_, now);
  }
  return Connection::over(std::move(waiting.socket), Role::kListener, std::move(waiting.peer), credentials_, limits_,
                          now);
}

void Listener::send_away(Admission::Id id, Time now) {
  std::string peer;
  if (const auto found = std::ranges::find(waiting_, id, &Waiting::id); found != waiting_.end()) {
    if (credentials_) {
      const auto refusal = TlsSession::refusal();
      (void)send(found->socket.get(), refusal.data(), refusal.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    peer = found->peer;
    waiting_.erase(found);
  } else {
    const auto heard = std::ranges::find(greeting_, id, &Greeting::id);
    peer = heard->connection.peer();
    greeting_.erase(heard);
  }
  report(std::move(peer), make_error({"rejected: too many connections at once"}).message, now);
}

void Listener::report(std::string peer, std::string why, Time now) {
  if (failed_.size() >= kMaxFailed || !quota_.take(now)) {
    ++unsaid_attempts_;
    return;
  }
  failed_.push_back({std::move(peer), std::move(why), std::exchange(unsaid_attempts_, 0)});
}

std::optional<Connection> Listener::next() {
  if (ready_.empty()) return std::nullopt;
  std::optional<Connection> first(std::move(ready_.front()));
  ready_.pop_front();
  return first;
}

std::optional<Listener::FailedAttempt> Listener::next_failed() {
  if (failed_.empty()) return std::nullopt;
  FailedAttempt first = std::move(failed_.front());
  failed_.pop_front();
  return first;
}

}  // namespace heaptap::channel
