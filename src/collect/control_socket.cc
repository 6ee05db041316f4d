#include "collect/control_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace heaptap::collect {
namespace {

constexpr uint32_t kMagic = 0x4c544348;  // "HCTL"
constexpr uint32_t kVersion = 1;
constexpr size_t kMaxText = 8192;
enum class Request : uint32_t { kScan = 1 };

struct RequestMessage {
  uint32_t magic;
  uint32_t version;
  Request request;
  uint32_t reserved;
};

struct AnswerMessage {
  uint32_t magic;
  uint32_t scan;  // 0: there is none, and the text is the error's message
  uint32_t text_bytes;
  uint32_t reserved;
  char text[kMaxText];
};

struct Address {
  sockaddr_un name{};
  socklen_t bytes;
};

Address address_for(pid_t process) {
  Address address;
  const std::string name = fmt::format("heaptap.control.{}", process);
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path + 1, name.data(), name.size());  // a leading NUL: the abstract namespace
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

// Who is at the other end; no user where that isn't known.
std::optional<uid_t> peer_of(int connection) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return std::nullopt;
  return peer.uid;
}

bool is_trusted(int connection) {
  const std::optional<uid_t> peer = peer_of(connection);
  return peer && (*peer == 0 || *peer == geteuid());
}

base::Error nobody_traces(pid_t process) {
  struct stat facts{};
  if (stat(fmt::format("/proc/{}", process).c_str(), &facts) != 0) {
    return base::make_error("there is no process {}: `pgrep -n NAME` finds a program's pid", process);
  }
  return base::make_error(
      "process {} is not being recorded: start it with `heaptap run PROGRAM`, or record it with `heaptap attach "
      "{}`, "
      "then ask for its leaks from here",
      process, process);
}

base::Error traced_by_another_user(pid_t process) {
  return base::make_error("process {} is recorded by another user: ask as that user, or as root", process);
}

}  // namespace

void ControlCall::answer(const base::Result<ScanAnswer>& answer) {
  AnswerMessage message{
      .magic = kMagic, .scan = answer ? answer->number : 0, .text_bytes = 0, .reserved = 0, .text = {}};
  const std::string& text = answer ? answer->trace : answer.error().message;
  message.text_bytes = static_cast<uint32_t>(std::min(text.size(), kMaxText));
  std::memcpy(message.text, text.data(), message.text_bytes);
  // Who asked may be gone.
  (void)send(descriptor(), &message, offsetof(AnswerMessage, text) + message.text_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ControlSocket::ControlSocket(pid_t process)
    : socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const Address address = address_for(process);
  if (socket_ && (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address.name), address.bytes) != 0 ||
                  listen(socket_.get(), 8) != 0)) {
    socket_.reset();
  }
}

void ControlSocket::add_waits(std::vector<pollfd>& waits) const {
  waits.push_back({socket_.get(), POLLIN, 0});
  for (const ControlCall& caller : callers_) waits.push_back({caller.descriptor(), POLLIN, 0});
}

std::optional<ControlCall> ControlSocket::accept() {
  take_callers();
  while (!callers_.empty()) {
    const auto spoken = std::ranges::find_if(callers_, [](const ControlCall& caller) {
      char first = 0;
      return recv(caller.descriptor(), &first, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
    });
    if (spoken == callers_.end()) return std::nullopt;
    ControlCall call = std::move(*spoken);
    callers_.erase(spoken);
    RequestMessage message{};
    const bool is_whole = recv(call.descriptor(), &message, sizeof(message), MSG_DONTWAIT) == sizeof(message);
    const bool is_ours = is_whole && message.magic == kMagic && message.version == kVersion;
    if (is_ours && message.request == Request::kScan) return call;
  }
  return std::nullopt;
}

// Who says nothing isn't waited for, and gives way to others.
void ControlSocket::take_callers() {
  constexpr size_t kMaxCallers = 8;
  for (size_t taken = 0; socket_ && taken < kMaxCallers; ++taken) {
    base::UniqueFd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return;
    ControlCall caller(std::move(connection));
    if (!is_trusted(caller.descriptor())) continue;
    if (callers_.size() >= kMaxCallers) callers_.pop_front();
    callers_.push_back(std::move(caller));
  }
}

base::Result<ScanAnswer> ask_for_scan(pid_t process) {
  const base::UniqueFd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const Address address = address_for(process);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address.name), address.bytes) != 0) {
    return std::unexpected(nobody_traces(process));
  }
  if (!is_trusted(connection.get())) {
    return std::unexpected(traced_by_another_user(process));
  }
  const RequestMessage request{kMagic, kVersion, Request::kScan, 0};
  AnswerMessage answer{};
  ssize_t bytes = send(connection.get(), &request, sizeof(request), MSG_NOSIGNAL);
  if (bytes == sizeof(request)) bytes = recv(connection.get(), &answer, sizeof(answer), 0);
  const auto head = static_cast<ssize_t>(offsetof(AnswerMessage, text));
  const bool is_refused = bytes == 0 || (bytes < 0 && (errno == EPIPE || errno == ECONNRESET));
  // Root's heaptap answers root alone, and closes the door at once.
  if (is_refused && peer_of(connection.get()) != geteuid()) return std::unexpected(traced_by_another_user(process));
  if (bytes < head || answer.magic != kMagic || bytes != head + static_cast<ssize_t>(answer.text_bytes)) {
    return base::fail("the heaptap that records process {} gave no answer: {}", process,
                      bytes < 0 ? base::reason_of(errno) : "it or the process ended meanwhile");
  }
  std::string text(answer.text, answer.text_bytes);
  if (answer.scan == 0) return std::unexpected(base::Error{std::move(text)});
  return ScanAnswer{answer.scan, std::move(text)};
}

}  // namespace heaptap::collect
