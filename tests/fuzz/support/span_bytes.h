// A fuzzer's bytes as a file, or as memory from an address on.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/byte_source.h"

namespace heaptap::fuzz {

class SpanBytes final : public base::ByteSource {
 public:
  explicit SpanBytes(std::span<const uint8_t> bytes, uint64_t start = 0) : bytes_(bytes), start_(start) {}
  size_t read_some(uint64_t address, void* to, size_t bytes) const override {
    const uint64_t offset = address - start_;
    if (address < start_ || offset >= bytes_.size() || bytes == 0) return 0;
    const size_t count = std::min<size_t>(bytes, bytes_.size() - static_cast<size_t>(offset));
    std::memcpy(to, bytes_.data() + offset, count);
    return count;
  }

 private:
  std::span<const uint8_t> bytes_;
  uint64_t start_;
};

}  // namespace heaptap::fuzz
