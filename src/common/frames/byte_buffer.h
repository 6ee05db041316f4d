// Growing byte buffer for frame payloads.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/wire/varint.h"

namespace heaptap::frames {

class ByteBuffer {
 public:
  [[nodiscard]] const uint8_t* data() const { return bytes_.data(); }
  [[nodiscard]] size_t size() const { return used_; }
  void clear() { used_ = 0; }

  void varint(uint64_t value) {
    if (bytes_.size() - used_ < wire::kMaxVarintBytes) bytes_.resize(bytes_.size() * 2 + 64);
    used_ = static_cast<size_t>(wire::write_varint(bytes_.data() + used_, value) - bytes_.data());
  }
  void signed_varint(int64_t value) { varint(wire::zigzag(value)); }

  // For loops: reserves room for that many varints at the end; finish with `end_at`. No other calls in between.
  uint8_t* begin_varints(size_t count) {
    const size_t most = count * wire::kMaxVarintBytes;
    if (bytes_.size() - used_ < most) bytes_.resize(bytes_.size() * 2 + most);
    return bytes_.data() + used_;
  }
  void end_at(const uint8_t* end) { used_ = static_cast<size_t>(end - bytes_.data()); }

  // Reserves that many bytes, to be filled before the next call.
  uint8_t* append(size_t count) {
    if (bytes_.size() - used_ < count) bytes_.resize(bytes_.size() * 2 + count);
    used_ += count;
    return bytes_.data() + used_ - count;
  }
  void bytes(const void* from, size_t count) {
    if (count > 0) __builtin_memcpy(append(count), from, count);
  }
  // Length, then bytes.
  void text(std::string_view value) {
    varint(value.size());
    bytes(value.data(), value.size());
  }

 private:
  std::vector<uint8_t> bytes_;  // its size is the capacity, used_ the length
  size_t used_ = 0;
};

}  // namespace heaptap::frames
