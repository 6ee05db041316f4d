#include "views/client/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "common/base/descriptor_message.h"
#include "common/base/socket_peer.h"
#include "common/control/control_messages.h"
#include "views/client/recorder.h"

namespace heaptap::client {
namespace {

constexpr std::chrono::seconds kLongestGreeting{30};  // a recorder may be in a scan of a large program

base::Error recorded_by_another(const std::string& name) {
  return base::make_error("{} is recorded by another user: run this as that user", name);
}

}  // namespace

base::Result<std::unique_ptr<Client>> Client::connect(const endpoint::ProcessName& process) {
  auto connection = connect_to_recorder(process);
  if (!connection) return std::unexpected(std::move(connection).error());
  auto client = std::unique_ptr<Client>(new Client(*std::move(connection), endpoint::to_text(process)));
  HEAPTAP_TRY(client->greet());
  return client;
}

base::Result<std::unique_ptr<Client>> Client::connect(const std::string& socket_path) {
  const auto address = endpoint::address_of_file(socket_path);
  if (!address) return base::fail("'{}' is too long for the name of a socket", socket_path);
  base::UniqueFd connection = connect_in_time(*address, kLongestGreeting);
  if (!connection) {
    return base::fail("can't connect to '{}': {}; `heaptap console` lists what is being recorded", socket_path,
                      base::reason_of(errno));
  }
  auto client = std::unique_ptr<Client>(new Client(std::move(connection), fmt::format("'{}'", socket_path)));
  HEAPTAP_TRY(client->greet());
  return client;
}

base::Result<> Client::greet() {
  const std::optional<uid_t> peer = base::user_of_peer(connection_.get());
  if (!base::is_own_user_or_root(peer)) return std::unexpected(recorded_by_another(name_));
  // Root's heaptap accepts root alone, and closes other connections at once.
  const auto refused = [&]() -> base::Result<> {
    if (peer != geteuid()) return std::unexpected(recorded_by_another(name_));
    return lost(base::make_error("it or the process has ended"));
  };
  if (!send(message::hello())) return refused();
  const auto deadline = std::chrono::steady_clock::now() + kLongestGreeting;
  while (true) {
    if (const auto message = reader_.next()) {
      if (message::is_hello_of_this_version(*message)) return {};
      const uint32_t version = message::decode_hello(message->fields).major;
      return base::fail("the heaptap that records {} speaks another version of the protocol ({}, this one {})", name_,
                        version, message::kMajorVersion);
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd wait{connection_.get(), POLLIN, 0};
    if (left.count() <= 0 || (poll(&wait, 1, static_cast<int>(left.count())) < 0 && errno != EINTR)) {
      return lost(base::make_error("no answer within {} s", kLongestGreeting.count()));
    }
    if (!reader_.is_sound() || !read(false)) return refused();
  }
}

base::Result<Answer> Client::ask(message::Number request, const message::Fields& fields) {
  if (!is_connected_) return lost(base::make_error("the connection has ended"));
  const uint64_t number = ++last_number_;
  HEAPTAP_TRY(send({request, number, fields}));
  while (true) {
    while (auto message = reader_.next()) {
      if (message->kind == control::Kind::kNews) news_.push_back(std::move(message->fields));
      if (message->number != number) continue;  // of a request that was given up
      if (message->kind == message::CommonKind::kAnswer) return Answer{std::move(message->fields), std::move(file_)};
      if (message->kind != message::CommonKind::kRefusal) continue;
      base::Error why = message::decode_refusal(message->fields);
      // The others lead to exit statuses for a program that can't be started.
      if (why.kind != base::ErrorKind::kUsage) why.kind = base::ErrorKind::kFailed;
      return std::unexpected(std::move(why));
    }
    if (!reader_.is_sound()) return lost(base::make_error("invalid message"));
    HEAPTAP_TRY(read(true));
  }
}

std::optional<message::Fields> Client::next_news() {
  while (is_connected_ && read(false)) {
    pollfd wait{connection_.get(), POLLIN, 0};
    if (poll(&wait, 1, 0) <= 0) break;
  }
  while (auto message = reader_.next()) {
    if (message->kind == control::Kind::kNews) news_.push_back(std::move(message->fields));
  }
  if (!reader_.is_sound()) is_connected_ = false;
  if (news_.empty()) return std::nullopt;
  message::Fields first = std::move(news_.front());
  news_.pop_front();
  return first;
}

base::Result<> Client::read(bool waits) {
  constexpr size_t kPieceBytes = size_t{16} << 10;
  std::array<char, kPieceBytes> piece;
  base::UniqueFd file;
  ssize_t bytes = 0;
  do {
    bytes = base::receive_message(connection_.get(), piece, file, waits ? 0 : MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR && give_up_ && give_up_())
      return base::fail("interrupted; heaptap continues with the request");
  } while (bytes < 0 && errno == EINTR);
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
  if (bytes <= 0)
    return lost(bytes < 0 ? base::Error{base::reason_of(errno)} : base::make_error("it or the process has ended"));
  if (file) file_ = std::move(file);
  reader_.add({piece.data(), static_cast<size_t>(bytes)});
  return {};
}

base::Result<> Client::send(const message::Message& message) {
  const std::string bytes = message::encode(message);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t sent = ::send(connection_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return lost(base::Error{base::reason_of(errno)});
    done += static_cast<size_t>(sent);
  }
  return {};
}

std::unexpected<base::Error> Client::lost(const base::Error& why) {
  is_connected_ = false;
  return base::fail("the heaptap that records {} gave no answer: {}", name_, why.message);
}

}  // namespace heaptap::client
