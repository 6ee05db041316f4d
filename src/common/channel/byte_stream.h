// Byte transport of a channel: a socket, or memory in a test. Non-blocking.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace heaptap::channel {

struct Transfer {
  enum class Outcome : uint8_t {
    kDone,    // at least one byte
    kLater,   // none at present
    kEnded,   // for receiving: the other side has closed
    kBroken,  // permanent failure; error_number has the reason
  };
  Outcome outcome = Outcome::kLater;
  size_t bytes = 0;
  int error_number = 0;
};

class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = default;
  ByteStream(ByteStream&&) = default;
  ByteStream& operator=(const ByteStream&) = default;
  ByteStream& operator=(ByteStream&&) = default;
  virtual ~ByteStream() = default;

  virtual Transfer receive(std::span<uint8_t> room) = 0;
  virtual Transfer send(std::span<const uint8_t> bytes) = 0;
};

}  // namespace heaptap::channel
