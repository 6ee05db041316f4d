// What carries a channel's bytes: a socket, or memory in a test. Nothing here waits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace heaptap::channel {

struct Transfer {
  enum class Outcome : uint8_t {
    kDone,    // some bytes, at least one
    kLater,   // none just now
    kEnded,   // receiving alone: the other side has said its last
    kBroken,  // never again; error_number says why
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
