#include "common/channel/connection.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/socket_peer.h"
#include "common/channel/failure.h"
#include "common/channel/front.h"

namespace heaptap::channel {
namespace {

base::Error cant_connect(const std::string& peer, int error) {
  const std::string reason = base::reason_of(error);
  if (error == ECONNREFUSED || error == ENOENT) {
    return make_error({"can't connect to ", peer, ": ", reason, "; nothing listens there: start the other side first"});
  }
  if (error == EAGAIN)
    return make_error({"can't connect to ", peer, ": too many connections are waiting there already; try again"});
  if (error == EACCES || error == EPERM) {
    return make_error(
        {"can't connect to ", peer, ": ", reason, "; it belongs to another user: run this as that user or as root"});
  }
  return make_error({"can't connect to ", peer, ": ", reason, "; check the address, and firewalls on the way"});
}

int family_of(int socket) {
  sockaddr_storage own{};
  socklen_t bytes = sizeof(own);
  return getsockname(socket, reinterpret_cast<sockaddr*>(&own), &bytes) == 0 ? own.ss_family : AF_UNSPEC;
}

// A TCP socket that connects to a port of its own range may connect to itself.
bool is_own_end(int socket) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_bytes = sizeof(own);
  socklen_t other_bytes = sizeof(other);
  return getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_bytes) == 0 &&
         getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_bytes) == 0 && own_bytes == other_bytes &&
         std::memcmp(&own, &other, own_bytes) == 0;
}

// Batching is done above: flushed data is sent at once. Sockets of another kind have no such option.
void send_at_once(int socket) {
  const int on = 1;
  (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// The listener of a UNIX socket is trusted if it is this user or root.
bool is_believed(int socket) { return base::is_own_user_or_root(base::user_of_peer(socket)); }

}  // namespace

base::Result<Connection> Connection::connect(const Address& address, const Security& security, const Limits& limits,
                                             Time now) {
  const std::string peer = address.to_text();
  HEAPTAP_TRY(check(security, address));
  const auto name = address.to_socket();
  if (!name) return fail({"'", peer, "' is a host name, which can't be resolved here: give the host's IP address"});
  if (!address.is_file() && address.port() == 0) {
    return fail({"'", peer, "' has no port to connect to: give the one that the other side listens on"});
  }
  const auto credentials = credentials_for(security, Role::kConnector, address);
  const bool has_front = credentials && !address.is_file();
  auto session = has_front ? make_session_behind_front(Role::kConnector, *credentials, nullptr)
                           : make_session(Role::kConnector, credentials);
  if (!session) return std::unexpected(session.error());
  base::UniqueFd socket(::socket(name->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail({"can't make a socket for ", peer, ": ", base::reason_of(errno)});
  const int connected = ::connect(socket.get(), name->get(), name->bytes);
  if (connected != 0 && errno != EINPROGRESS && errno != EINTR) return std::unexpected(cant_connect(peer, errno));
  Connection connection(std::move(socket), *std::move(session), peer, limits);
  connection.deadline_ = now + limits.greeting;
  connection.has_front_ = has_front;
  if (connected == 0) connection.begin_greeting();
  return connection;
}

base::Result<Connection> Connection::over(base::UniqueFd socket, Role role, std::string peer,
                                          const std::optional<Credentials>& credentials, const Limits& limits,
                                          Time now) {
  auto session = make_session(role, credentials);
  if (!session) return std::unexpected(session.error());
  return over(std::move(socket), *std::move(session), std::move(peer), limits, now);
}

base::Result<Connection> Connection::behind_front(base::UniqueFd socket, std::string peer,
                                                  const Credentials& credentials, const Limits& limits, Time now) {
  const auto channel_key = KeyPair::generate();
  if (!channel_key) return std::unexpected(channel_key.error());
  auto session = make_session_behind_front(Role::kListener, credentials, &*channel_key);
  if (!session) return std::unexpected(session.error());
  auto front = start_front(std::move(socket), &*channel_key);
  if (!front) return std::unexpected(front.error());
  return over(*std::move(front), *std::move(session), std::move(peer), limits, now);
}

base::Result<Connection> Connection::over(base::UniqueFd socket, std::unique_ptr<Session> session, std::string peer,
                                          const Limits& limits, Time now) {
  const int flags = fcntl(socket.get(), F_GETFL);
  if (flags < 0 || fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return fail({"can't use the connection of ", peer, ": ", base::reason_of(errno)});
  }
  send_at_once(socket.get());
  Connection connection(std::move(socket), std::move(session), std::move(peer), limits);
  connection.deadline_ = now + limits.greeting;
  connection.phase_ = Phase::kGreeting;
  return connection;
}

void Connection::add_waits(std::vector<pollfd>& waits, bool wants_bytes) const {
  if (phase_ == Phase::kGone) return;
  const bool receives = phase_ == Phase::kReady ? wants_bytes : phase_ != Phase::kConnecting;
  const bool sends = phase_ == Phase::kConnecting || session_->wants_to_send(outgoing_);
  const int wanted = (receives ? POLLIN : 0) | (sends ? POLLOUT : 0);
  if (wanted != 0) waits.push_back({stream_.descriptor(), static_cast<short>(wanted), 0});
}

std::optional<Time> Connection::deadline() const {
  return phase_ == Phase::kReady || phase_ == Phase::kGone ? std::nullopt : deadline_;
}

void Connection::proceed(Time now) {
  if (phase_ == Phase::kConnecting) finish_connecting();
  if (phase_ == Phase::kGreeting) greet();
  if (phase_ == Phase::kReady) flush();
  if (phase_ == Phase::kEnding) go_on_ending();
  const auto limit = deadline();
  if (!limit || now < *limit) return;
  if (phase_ == Phase::kEnding) return drop(make_error({"this side closed the connection, but the other side didn't"}));
  if (phase_ == Phase::kConnecting) return drop(cant_connect(peer_, ETIMEDOUT));
  drop(make_error({"no greeting from the other side within ",
                   std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limits_.greeting).count()),
                   " s: it is not heaptap, it hangs, or the network is slow"}));
}

void Connection::finish_connecting() {
  pollfd wait{stream_.descriptor(), POLLOUT, 0};
  if (poll(&wait, 1, 0) <= 0) return;
  int error = 0;
  socklen_t bytes = sizeof(error);
  if (getsockopt(stream_.descriptor(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  if (error != 0) return drop(cant_connect(peer_, error));
  if (is_own_end(stream_.descriptor())) return drop(cant_connect(peer_, ECONNREFUSED));
  begin_greeting();
}

void Connection::begin_greeting() {
  phase_ = Phase::kGreeting;
  send_at_once(stream_.descriptor());
  if (family_of(stream_.descriptor()) == AF_UNIX && !is_believed(stream_.descriptor())) {
    drop(make_error({"another user listens there: run both sides as the same user, or use a path of your own"}));
  }
  if (!std::exchange(has_front_, false)) return;
  auto front = start_front(stream_.release(), nullptr);
  if (!front) return drop(front.error());
  stream_ = SocketStream(*std::move(front));
}

void Connection::greet() {
  session_->greet(stream_);
  if (session_->state() == Session::State::kReady) {
    phase_ = Phase::kReady;
    if (const std::string name = session_->peer_name(); !name.empty()) peer_ += " (" + name + ")";
  }
  settle();
}

size_t Connection::read(std::vector<uint8_t>& out) {
  if (!is_ready()) return 0;
  const size_t before = out.size();
  session_->read(stream_, out);
  settle();
  return out.size() - before;
}

size_t Connection::write(std::span<const uint8_t> bytes) { return is_ready() ? outgoing_.add(bytes) : 0; }

void Connection::flush() {
  if (!is_ready()) return;
  session_->write(stream_, outgoing_);
  settle();
}

void Connection::end(Time now) {
  if (phase_ == Phase::kGone || phase_ == Phase::kEnding) return;
  if (phase_ != Phase::kReady) return drop(make_error({"this side canceled the connection"}));
  phase_ = Phase::kEnding;
  deadline_ = now + limits_.ending;
  go_on_ending();
}

// The other side's bytes are read and discarded: closing with unread bytes would discard data not yet sent to it (RFC
// 1122, 4.2.2.13).
void Connection::go_on_ending() {
  if (!has_said_end_ && outgoing_.empty()) {
    session_->say_end();
    has_said_end_ = true;
  }
  session_->write(stream_, outgoing_);
  if (has_said_end_ && !has_shut_down_ && session_->outgoing_bytes() == 0) {
    shutdown(stream_.descriptor(), SHUT_WR);
    has_shut_down_ = true;
  }
  constexpr size_t kPieceBytes = size_t{16} << 10;
  constexpr int kMaxPieces = 16;
  std::array<uint8_t, kPieceBytes> dropped;
  for (int i = 0; i < kMaxPieces; ++i) {
    const Transfer got = stream_.receive(dropped);
    if (got.outcome == Transfer::Outcome::kLater) return;
    if (got.outcome == Transfer::Outcome::kDone) continue;
    if (has_shut_down_) return drop(make_error({"this side closed the connection"}));
    return drop(make_error({"the other side closed the connection before it had received everything"}));
  }
}

void Connection::settle() {
  if (session_->state() == Session::State::kEnded) return drop(make_error({"the other side closed the connection"}));
  if (session_->state() != Session::State::kFailed) return;
  session_->write(stream_, outgoing_);  // its last messages, if they can be sent now
  drop({session_->why()});
}

void Connection::drop(base::Error why) {
  if (phase_ == Phase::kGone) return;
  phase_ = Phase::kGone;
  why_ = std::move(why.message);
  stream_.close();
}

}  // namespace heaptap::channel
