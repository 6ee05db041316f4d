// What a scan on the other machine found, as it comes in pieces: one at a time on a line, and never more than this machine can keep
// beside what it is made into, whatever the other one sends.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace heaptap::remote {

// Of a heap of some ten thousand megabytes.
inline constexpr uint64_t kMaxScanBytes = uint64_t{1} << 30;

class IncomingScan {
 public:
  // How much memory is free, in bytes: asked as a scan begins.
  using FreeMemory = uint64_t (*)();
  explicit IncomingScan(FreeMemory free_memory, uint64_t largest = kMaxScanBytes)
      : free_memory_(free_memory), largest_(largest) {}

  // Takes a piece; with the last one, all of it. What another stream's scan had so far is dropped: a target makes one after the other.
  // Of one that is too large the first piece too many is an error, and the rest of it is passed over.
  base::Result<std::optional<std::vector<uint8_t>>> take(uint64_t stream, std::span<const uint8_t> piece, bool is_last);

  [[nodiscard]] size_t kept_bytes() const { return bytes_.capacity(); }

 private:
  void begin(uint64_t stream);

  FreeMemory free_memory_;
  uint64_t largest_;
  std::optional<uint64_t> stream_;  // whose scan comes
  bool is_refused_ = false;
  uint64_t most_bytes_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace heaptap::remote
