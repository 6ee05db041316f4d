// Byte stream of a connected socket.
#pragma once
#include <utility>

#include "common/base/unique_fd.h"
#include "common/channel/byte_stream.h"

namespace heaptap::channel {

class SocketStream : public ByteStream {
 public:
  explicit SocketStream(base::UniqueFd socket) : socket_(std::move(socket)) {}

  Transfer receive(std::span<uint8_t> room) override;
  Transfer send(std::span<const uint8_t> bytes) override;

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  void close() { socket_.reset(); }
  base::UniqueFd release() { return std::move(socket_); }

 private:
  base::UniqueFd socket_;
};

}  // namespace heaptap::channel
