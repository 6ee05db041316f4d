#include "collect/agent_server.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace heaptap::collect {
namespace {

constexpr long kMaxPending = 4096;
constexpr long kMaxOfOtherUser = 64;
constexpr size_t kMaxLines = 256;
constexpr unsigned kMaxRounds = 8;
constexpr unsigned kMaxAtOnce = 64;           // connections, or messages of a line, that are taken in one go
constexpr std::chrono::seconds kPatience{5};  // as long as an agent waits for its answer

std::string random_text(size_t digits) {
  std::string text(digits, '0');
  size_t done = 0;
  while (done < digits) {
    std::array<uint8_t, 64> random{};
    if (getrandom(random.data(), random.size(), 0) < 0 && errno != EINTR)
      std::abort();  // a secret that can be guessed is none
    for (const uint8_t byte : random) {
      if (done < digits) text[done++] = "0123456789abcdef"[byte & 15];
    }
  }
  return text;
}

// A message has room for one more descriptor than it should bring.
void take_descriptors(cmsghdr* head, base::UniqueFd& connection) {
  const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
    base::UniqueFd taken(descriptor);
    if (!connection) connection = std::move(taken);
  }
}

// A message of who shares a line: the kernel says whose it is, and a descriptor comes with it.
ssize_t receive_by_line(int line, AgentRequest& request) {
  iovec part{&request.hello, sizeof(request.hello)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = recvmsg(line, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  for (cmsghdr* head = got >= 0 ? CMSG_FIRSTHDR(&message) : nullptr; head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET) continue;
    if (head->cmsg_type == SCM_RIGHTS) take_descriptors(head, request.connection);
    if (head->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(head), sizeof(sender));
      request.process = sender.pid;
    }
  }
  return got;
}

base::UniqueFd listen_on(const std::string& name) {
  base::UniqueFd descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!descriptor) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int with_senders = 1;  // what is accepted inherits it
  setsockopt(descriptor.get(), SOL_SOCKET, SO_PASSCRED, &with_senders, sizeof(with_senders));
  const int bound = bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), bytes);
  if (bound != 0 || listen(descriptor.get(), SOMAXCONN) != 0) return {};
  return descriptor;
}

}  // namespace

base::Result<AgentServer> AgentServer::create() {
  std::string name = "heaptap-" + random_text(24);
  base::UniqueFd socket = listen_on(name);
  if (!socket) return base::fail("can't make the agent's socket: {}", base::reason_of(errno));
  return AgentServer(std::move(name), std::move(socket));
}

AgentServer::AgentServer(std::string name, base::UniqueFd socket)
    : name_(std::move(name)), secret_(random_text(wire::kSecretBytes)), socket_(std::move(socket)) {}

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
    wire::Hello hello{};
    const ssize_t got = recv(pending->connection.get(), &hello, sizeof(hello), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR) && now - pending->since < kPatience) {
      ++pending;
    } else if (got == sizeof(hello) && is_sound(hello)) {
      AgentRequest request{std::move(pending->connection), pending->process, hello};
      pending = pending_.erase(pending);
      if (hello.reason != wire::StartReason::kLine) return request;
      keep_line(std::move(request.connection));
    } else if (got == 0) {  // it went away
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
  unsigned taken = 0;  // of this line
  for (size_t i = 0; i < lines_.size();) {
    AgentRequest request;
    const ssize_t got = receive_by_line(lines_[i].get(), request);
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

// False: nobody waits, or there were so many that others have their turn first.
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
  // In place of the one that has been silent for the longest time. Many processes that are recorded may come at once.
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
  // Without an early end: how long it takes says nothing of the secret.
  unsigned difference = 0;
  for (size_t i = 0; i < secret_.size(); ++i) difference |= static_cast<uint8_t>(hello.secret[i] ^ secret_[i]);
  return difference == 0 && hello.magic == wire::kHelloMagic && hello.version == wire::kHandshakeVersion &&
         hello.log_version == wire::kLogVersion;
}

bool AgentServer::answer(base::UniqueFd connection, log::LogMemory* log) {
  wire::Welcome welcome{wire::kHelloMagic, wire::kHandshakeVersion, log != nullptr ? 1u : 0u, 0,
                        log != nullptr ? log->bytes() : 0};
  iovec part{&welcome, sizeof(welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (log != nullptr) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int descriptor = log->descriptor();
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(descriptor));
  }
  // An agent that reads nothing isn't waited for.
  const bool sent =
      sendmsg(connection.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof(welcome));
  connection.reset();
  if (log != nullptr) log->close_descriptor();
  return sent;
}

}  // namespace heaptap::collect
