#include "target/agent_server.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace heaptap::target {
namespace {

// Long enough that nobody meets it by chance or by trying.
std::string random_name() {
  std::array<uint8_t, 12> random{};
  [[maybe_unused]] const ssize_t got = getrandom(random.data(), random.size(), 0);
  std::string name = "heaptap-";
  for (const uint8_t byte : random) {
    static constexpr char kDigits[] = "0123456789abcdef";
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name;
}

int listen_on(const std::string& name) {
  const int descriptor = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), bytes) != 0 || listen(descriptor, 128) != 0) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

}  // namespace

AgentServer::AgentServer() : name_(random_name()), socket_(listen_on(name_)) {}

AgentServer::~AgentServer() {
  if (socket_ >= 0) close(socket_);
}

std::optional<AgentRequest> AgentServer::accept() {
  const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return std::nullopt;
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  AgentRequest request{connection, 0, {}};
  const timeval limit{1, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  const bool known = getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0;
  const bool complete = known && recv(connection, &request.hello, sizeof(request.hello), 0) == sizeof(request.hello);
  const bool speaks_ours = complete && request.hello.magic == wire::kHelloMagic &&
                           request.hello.version == wire::kHandshakeVersion &&
                           request.hello.log_version == wire::kLogVersion;
  if (!speaks_ours) {
    close(connection);
    return std::nullopt;
  }
  request.process = peer.pid;
  return request;
}

bool AgentServer::answer(const AgentRequest& request, LogMemory* log) {
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
  const bool sent = sendmsg(request.connection, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(welcome));
  close(request.connection);
  if (log != nullptr) log->close_descriptor();
  return sent;
}

}  // namespace heaptap::target
