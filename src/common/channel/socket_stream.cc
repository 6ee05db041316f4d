#include "common/channel/socket_stream.h"

#include <sys/socket.h>

#include <cerrno>

namespace heaptap::channel {
namespace {

Transfer transfer_of(ssize_t bytes, Transfer::Outcome none) {
  if (bytes > 0) return {Transfer::Outcome::kDone, static_cast<size_t>(bytes), 0};
  if (bytes == 0) return {none, 0, 0};
  const int error = errno;
  const bool comes_later =
      error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS || error == ENOMEM;
  return {comes_later ? Transfer::Outcome::kLater : Transfer::Outcome::kBroken, 0, error};
}

}  // namespace

Transfer SocketStream::receive(std::span<uint8_t> room) {
  if (room.empty()) return {};
  return transfer_of(recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT), Transfer::Outcome::kEnded);
}

Transfer SocketStream::send(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return {};
  return transfer_of(::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL),
                     Transfer::Outcome::kLater);
}

}  // namespace heaptap::channel
