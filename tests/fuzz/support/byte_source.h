// Takes numbers and pieces out of a fuzzer's bytes; past their end it gives zeros.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace heaptap::fuzz {

class ByteSource {
 public:
  ByteSource(const uint8_t* bytes, size_t size_bytes) : left_(bytes, size_bytes) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }

  template <typename T>
  T take() {
    T value{};
    const std::span<const uint8_t> from = bytes(sizeof(T));
    if (!from.empty()) std::memcpy(&value, from.data(), from.size());
    return value;
  }
  std::span<const uint8_t> bytes(size_t most) {
    const std::span<const uint8_t> taken = left_.first(std::min(most, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  std::span<const uint8_t> rest() { return bytes(left_.size()); }

 private:
  std::span<const uint8_t> left_;
};

}  // namespace heaptap::fuzz
