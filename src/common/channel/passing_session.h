// Session that passes bytes to the stream unchanged, once it is ready.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/channel/session.h"

namespace heaptap::channel {

class PassingSession : public Session {
 public:
  void read(ByteStream& stream, std::vector<uint8_t>& out) override;
  size_t read_piece(ByteStream& stream, std::span<uint8_t> room) override;
  void write(ByteStream& stream, ByteQueue& queue) override;
  void say_end() override {}
};

}  // namespace heaptap::channel
