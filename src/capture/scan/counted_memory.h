// Memory of the scanned program, with counts of the bytes read and skipped. Private to scan/.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/process/program_memory.h"
#include "common/base/address_range.h"

namespace heaptap::scan {

class CountedMemory {
 public:
  // `memory` must outlive it.
  explicit CountedMemory(process::ProgramMemory& memory) : memory_(memory) {}

  // Reads from `address` into `to`. Returns the number of bytes before the first unreadable one.
  size_t read(uint64_t address, std::span<uint8_t> to) {
    const size_t bytes = memory_.read_some(address, to.data(), to.size());
    read_bytes_ += bytes;
    return bytes;
  }

  // The parts of `range` worth reading, ascending, disjoint. The rest is zero, unmodified from a file, or no memory.
  // Parts may exceed `range` (whole pages).
  std::vector<base::AddressRange> touched(base::AddressRange range) {
    std::vector<base::AddressRange> result = memory_.touched_ranges(range.begin, range.end);
    uint64_t kept = 0;
    for (const base::AddressRange& part : result) {
      kept += std::min(part.end, range.end) - std::max(part.begin, range.begin);
    }
    skipped_bytes_ += range.end - range.begin - std::min(kept, range.end - range.begin);
    return result;
  }

  [[nodiscard]] uint64_t read_bytes() const { return read_bytes_; }
  [[nodiscard]] uint64_t skipped_bytes() const { return skipped_bytes_; }

 private:
  process::ProgramMemory& memory_;
  uint64_t read_bytes_ = 0;
  uint64_t skipped_bytes_ = 0;
};

}  // namespace heaptap::scan
