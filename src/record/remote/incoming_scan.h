// Reassembly of a scan result from the other machine: one at a time on a line, limited to what this machine can keep
// beside the result made from it, whatever the other one sends.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/result.h"

namespace heaptap::remote {

// Enough for a heap of some ten thousand megabytes.
inline constexpr uint64_t kMaxScanBytes = uint64_t{1} << 30;

class IncomingScan {
 public:
  // Free memory in bytes: queried as a scan begins.
  using FreeMemory = uint64_t (*)();
  explicit IncomingScan(FreeMemory free_memory, uint64_t largest = kMaxScanBytes)
      : free_memory_(free_memory), largest_(largest) {}

  // Adds a piece; returns the whole with the last one. An incomplete scan of another stream is dropped: a target sends
  // one after the other. If it is too large, returns an error for the first excess piece, and ignores the rest.
  base::Result<std::optional<std::vector<uint8_t>>> take(uint64_t stream, std::span<const uint8_t> piece, bool is_last);

  [[nodiscard]] size_t kept_bytes() const { return bytes_.capacity(); }

 private:
  void begin(uint64_t stream);

  FreeMemory free_memory_;
  uint64_t largest_;
  std::optional<uint64_t> stream_;  // of the scan being received
  bool is_refused_ = false;
  uint64_t max_bytes_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace heaptap::remote
