// In-memory channel, one byte vector each way, which tests inspect and modify.
#pragma once
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/channel/byte_stream.h"

namespace heaptap::test {

struct MemoryPipe {
  std::vector<uint8_t> bytes;  // all bytes ever sent
  size_t taken = 0;
  size_t max_waiting = SIZE_MAX;  // maximum of bytes not yet read; more aren't accepted
  size_t max_bytes = SIZE_MAX;    // maximum in total
  bool is_ended = false;
  bool is_broken = false;  // nothing is read any more

  [[nodiscard]] size_t waiting() const { return bytes.size() - taken; }
};

class MemoryStream : public channel::ByteStream {
 public:
  MemoryStream(MemoryPipe& in, MemoryPipe& out) : in_(&in), out_(&out) {}

  void set_max_piece(size_t bytes) { max_piece_ = bytes; }

  channel::Transfer receive(std::span<uint8_t> room) override {
    const size_t bytes = std::min({room.size(), in_->waiting(), max_piece_});
    if (bytes == 0 && in_->is_ended) return {channel::Transfer::Outcome::kEnded, 0, 0};
    if (bytes == 0) return {};
    std::copy_n(in_->bytes.begin() + static_cast<std::ptrdiff_t>(in_->taken), bytes, room.begin());
    in_->taken += bytes;
    return {channel::Transfer::Outcome::kDone, bytes, 0};
  }
  channel::Transfer send(std::span<const uint8_t> from) override {
    if (out_->is_broken) return {channel::Transfer::Outcome::kBroken, 0, EPIPE};
    const size_t room = out_->max_waiting - std::min(out_->max_waiting, out_->waiting());
    const size_t rest = out_->max_bytes - std::min(out_->max_bytes, out_->bytes.size());
    const size_t bytes = std::min({from.size(), room, rest, max_piece_});
    if (bytes == 0) return {};
    out_->bytes.insert(out_->bytes.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(bytes));
    return {channel::Transfer::Outcome::kDone, bytes, 0};
  }

 private:
  MemoryPipe* in_;
  MemoryPipe* out_;
  size_t max_piece_ = SIZE_MAX;
};

}  // namespace heaptap::test
