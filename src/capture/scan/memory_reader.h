// Memory source of a leak scan: another process, a core file, a test's vectors. Single-threaded.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/address_range.h"

namespace heaptap::scan {

class MemoryReader {
 public:
  MemoryReader() = default;
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;
  virtual ~MemoryReader() = default;

  // Reads from `address` into `to`. Returns the number of bytes before the first unreadable one.
  virtual size_t read(uint64_t address, std::span<uint8_t> to) = 0;

  // The parts of `range` worth reading, ascending, disjoint. The rest is zero, unmodified from a file, or no memory.
  // Parts may exceed `range` (whole pages).
  virtual std::vector<base::AddressRange> touched(base::AddressRange range) = 0;
};

}  // namespace heaptap::scan
