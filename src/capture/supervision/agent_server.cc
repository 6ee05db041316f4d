#include "capture/supervision/agent_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "common/base/descriptor_message.h"
#include "common/base/hex_text.h"
#include "common/base/random_bytes.h"

namespace heaptap::supervision {
namespace {

constexpr long kMaxPending = 4096;
constexpr long kMaxOfOtherUser = 64;
constexpr size_t kMaxLines = 256;
constexpr unsigned kMaxRounds = 8;
constexpr unsigned kMaxAtOnce = 64;  // connections, or messages of a connection, accepted in a row
constexpr std::chrono::seconds kPatience{wire::kAnswerSeconds};

// Of hexadecimal digits, an even number of them. A predictable secret is none.
base::Result<std::string> random_text(size_t digits) {
  std::vector<uint8_t> random(digits / 2);
  if (!base::fill_random(random)) {
    return base::fail("can't keep others from the agent's socket: the kernel gives no random numbers: {}",
                      base::reason_of(errno));
  }
  return base::hex_text({reinterpret_cast<const char*>(random.data()), random.size()});
}

// A message has room for one more descriptor than it should bring.
void take_descriptors(cmsghdr* head, base::UniqueFd& first) {
  const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
    base::UniqueFd taken(descriptor);
    if (!first) first = std::move(taken);
  }
}

// A message, with its sender's credentials from the kernel, and possibly a descriptor.
ssize_t receive_hello(int socket, AgentRequest& request, base::UniqueFd& descriptor) {
  iovec part{&request.hello, sizeof(request.hello)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  for (cmsghdr* head = got >= 0 ? CMSG_FIRSTHDR(&message) : nullptr; head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET) continue;
    if (head->cmsg_type == SCM_RIGHTS) take_descriptors(head, descriptor);
    if (head->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(head), sizeof(sender));
      request.process = sender.pid;
    }
  }
  return got;
}

void prepare(int descriptor) {
  (void)fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  (void)fcntl(descriptor, F_SETFL, O_NONBLOCK);
  const int with_senders = 1;  // what is accepted inherits it
  setsockopt(descriptor, SOL_SOCKET, SO_PASSCRED, &with_senders, sizeof(with_senders));
}

base::UniqueFd listen_on(const std::string& name) {
  base::UniqueFd descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!descriptor) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  prepare(descriptor.get());
  const int bound = bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), bytes);
  if (bound != 0 || listen(descriptor.get(), SOMAXCONN) != 0) return {};
  return descriptor;
}

}  // namespace

base::Result<AgentServer> AgentServer::create() {
  const auto letters = random_text(24);
  if (!letters) return std::unexpected(letters.error());
  auto secret = random_text(wire::kSecretBytes);
  if (!secret) return std::unexpected(secret.error());
  std::string name = "heaptap-" + *letters;
  base::UniqueFd socket = listen_on(name);
  if (!socket) return base::fail("can't make the agent's socket: {}", base::reason_of(errno));
  return AgentServer(std::move(name), std::move(*secret), std::move(socket));
}

base::Result<AgentServer> AgentServer::adopt(base::UniqueFd socket, const std::string& session) {
  const size_t end = session.find(wire::kSecretSeparator);
  if (end == session.npos || session.size() != end + 1 + wire::kSecretBytes) return base::fail("invalid session");
  int listens = 0;
  socklen_t bytes = sizeof(listens);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0) {
    return base::fail("descriptor {} is not a listening socket", socket.get());
  }
  prepare(socket.get());
  AgentServer server(session.substr(0, end), session.substr(end + 1), std::move(socket));
  server.welcome_flags_ = wire::kIsNoAncestor;
  return server;
}

AgentServer::AgentServer(std::string name, std::string secret, base::UniqueFd socket)
    : name_(std::move(name)), secret_(std::move(secret)), socket_(std::move(socket)) {}

void AgentServer::add_waits(std::vector<pollfd>& waits) const {
  waits.push_back({socket_.get(), POLLIN, 0});
  for (const Pending& pending : pending_) waits.push_back({pending.connection.get(), POLLIN, 0});
  for (const base::UniqueFd& line : lines_) waits.push_back({line.get(), POLLIN, 0});
}

std::optional<AgentRequest> AgentServer::accept() {
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    if (auto request = next_of_pending()) return request;
    if (!take_connections()) break;
  }
  return next_of_lines();
}

std::optional<AgentRequest> AgentServer::next_of_pending() {
  const Clock::time_point now = Clock::now();
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    AgentRequest request;
    const ssize_t got = receive_hello(pending->connection.get(), request, request.attached);
    const wire::Hello& hello = request.hello;
    if (got < 0 && (errno == EAGAIN || errno == EINTR) && now - pending->since < kPatience) {
      ++pending;
    } else if (got == sizeof(hello) && is_sound(hello)) {
      request.connection = std::move(pending->connection);
      request.process = pending->process;
      pending = pending_.erase(pending);
      if (hello.reason != wire::StartReason::kLine) return request;
      keep_line(std::move(request.connection));
    } else if (got == 0) {  // closed by the peer
      pending = pending_.erase(pending);
    } else {
      pending = refuse(pending);
    }
  }
  return std::nullopt;
}

void AgentServer::keep_line(base::UniqueFd connection) {
  if (lines_.size() < kMaxLines) lines_.push_back(std::move(connection));
}

std::optional<AgentRequest> AgentServer::next_of_lines() {
  unsigned taken = 0;  // of this connection
  for (size_t i = 0; i < lines_.size();) {
    AgentRequest request;
    const ssize_t got = receive_hello(lines_[i].get(), request, request.connection);
    const bool is_request = got == sizeof(request.hello) && request.connection && request.process > 0;
    if (is_request && is_sound(request.hello)) return request;
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) {
      const bool is_next = got < 0 || ++taken == kMaxAtOnce;  // others have their turn
      i += is_next ? 1 : 0;
      if (is_next) taken = 0;
    } else {
      taken = 0;
      lines_.erase(lines_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return std::nullopt;
}

// False: none is waiting, or there were so many that others have their turn first.
bool AgentServer::take_connections() {
  for (unsigned taken = 0; taken < kMaxAtOnce; ++taken) {
    base::UniqueFd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection && errno == EMFILE && !pending_.empty()) {
      refuse(pending_.begin());
      connection.reset(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    if (!connection) return taken > 0;
    take_connection(std::move(connection));
  }
  return true;
}

void AgentServer::take_connection(base::UniqueFd connection) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.pid <= 0) {
    ++refused_;
    return;
  }
  const auto is_of_user = [&](const Pending& other) { return other.user == peer.uid; };
  // Replaces the one that was silent for the longest time. Many recorded processes may connect at once.
  const long most = peer.uid == 0 || peer.uid == geteuid() ? kMaxPending : kMaxOfOtherUser;
  if (pending_.size() >= static_cast<size_t>(kMaxOfOtherUser) && std::ranges::count_if(pending_, is_of_user) >= most) {
    refuse(std::ranges::find_if(pending_, is_of_user));
  } else if (pending_.size() >= static_cast<size_t>(kMaxPending)) {
    refuse(pending_.begin());
  }
  pending_.push_back({std::move(connection), peer.pid, peer.uid, Clock::now()});
}

std::deque<AgentServer::Pending>::iterator AgentServer::refuse(const std::deque<Pending>::iterator& pending) {
  ++refused_;
  return pending_.erase(pending);
}

bool AgentServer::is_sound(const wire::Hello& hello) const {
  // In constant time, so that the duration doesn't disclose the secret.
  unsigned difference = 0;
  for (size_t i = 0; i < secret_.size(); ++i) difference |= static_cast<uint8_t>(hello.secret[i] ^ secret_[i]);
  return difference == 0 && hello.magic == wire::kHelloMagic && hello.version == wire::kHandshakeVersion &&
         hello.log_version == wire::kLogVersion;
}

void AgentServer::tell(const base::UniqueFd& connection, uint32_t error, std::span<const uint64_t, 10> counts) {
  wire::Reported told{
      .magic = wire::kHelloMagic, .version = wire::kHandshakeVersion, .error = error, .reserved = 0, .counts = {}};
  std::ranges::copy(counts, told.counts);
  send(connection.get(), &told, sizeof(told), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool AgentServer::answer(base::UniqueFd connection, log::LogMemory* log) const {
  wire::Welcome welcome{wire::kHelloMagic, wire::kHandshakeVersion, log != nullptr ? 1u : 0u, welcome_flags_,
                        log != nullptr ? log->bytes() : 0};
  const std::string_view bytes(reinterpret_cast<const char*>(&welcome), sizeof(welcome));
  const base::UniqueFd descriptor = log != nullptr ? log->descriptor_for_mapping() : base::UniqueFd();
  // An agent that doesn't read isn't waited for.
  const bool sent =
      base::send_message(connection.get(), bytes, descriptor.get(), MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size());
  connection.reset();
  if (log != nullptr) log->close_descriptor();
  return sent;
}

}  // namespace heaptap::supervision
