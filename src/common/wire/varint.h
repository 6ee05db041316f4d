// Variable-length integers (LEB128) as used in frames. Freestanding, no allocation.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <span>

namespace heaptap::wire {

inline constexpr size_t kMaxVarintBytes = 10;

// Writes at `to`, which needs room for kMaxVarintBytes; returns the end.
inline uint8_t* write_varint(uint8_t* to, uint64_t value) {
  if (value < 0x4000) [[likely]] {  // branchless: the length is hard to predict
    const bool is_long = value >= 0x80;
    to[0] = static_cast<uint8_t>(value | uint64_t{is_long} << 7);
    to[1] = static_cast<uint8_t>(value >> 7);
    return to + 1 + is_long;
  }
  while (value >= 0x80) {
    *to++ = static_cast<uint8_t>(value) | 0x80;
    value >>= 7;
  }
  *to++ = static_cast<uint8_t>(value);
  return to;
}

// Zigzag encoding: small numbers for small values of either sign.
constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Bounds-checked reader. Past the end, and for a number of more than 64 bits, reads give 0 and ok() is false from then on.
class VarintReader {
 public:
  VarintReader() = default;
  VarintReader(const uint8_t* begin, size_t bytes) : at_(begin), end_(begin + bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] size_t left() const { return static_cast<size_t>(end_ - at_); }
  [[nodiscard]] const uint8_t* here() const { return at_; }

  uint64_t varint() {
    if (at_ < end_ && *at_ < 0x80) [[likely]]
      return *at_++;
    return long_varint();
  }
  int64_t signed_varint() { return unzigzag(varint()); }

  // Returns the next bytes, or null if there are fewer.
  const uint8_t* bytes(uint64_t count) {
    if (count > left()) {
      fail();
      return nullptr;
    }
    const uint8_t* here = at_;
    at_ += count;
    return here;
  }

  // A length and that many bytes.
  std::span<const uint8_t> sized_bytes() {
    const uint64_t length = varint();
    const uint8_t* const begin = bytes(length);
    return begin == nullptr ? std::span<const uint8_t>() : std::span(begin, at_);
  }

  // A number of entries, each of which takes at least this many bytes. 0, and ok() is false, where fewer follow.
  size_t entry_count(size_t least_bytes) {
    const uint64_t count = varint();
    if (count <= left() / least_bytes) return static_cast<size_t>(count);
    fail();
    return 0;
  }

 private:
  uint64_t long_varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; at_ < end_ && shift < 64; shift += 7) {
      const uint8_t byte = *at_++;
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail();
    return 0;
  }
  void fail() {
    ok_ = false;
    at_ = end_;
  }

  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool ok_ = true;
};

}  // namespace heaptap::wire
