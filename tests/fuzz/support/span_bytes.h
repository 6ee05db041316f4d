// A fuzzer's bytes as a file.
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
  explicit SpanBytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  size_t read_some(uint64_t offset, void* to, size_t bytes) const override {
    if (offset >= bytes_.size() || bytes == 0) return 0;
    const size_t count = std::min<size_t>(bytes, bytes_.size() - static_cast<size_t>(offset));
    std::memcpy(to, bytes_.data() + offset, count);
    return count;
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace heaptap::fuzz
