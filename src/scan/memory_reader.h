// How the leak scan sees a target's memory: another process, a core file, a test's vectors. One thread.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/address_range.h"

namespace heaptap::scan {

// Of the machines whose processes are scanned.
constexpr uint64_t kPageBytes = 4096;

class MemoryReader {
 public:
  MemoryReader() = default;
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;
  virtual ~MemoryReader() = default;

  // Reads from `address` on, as much as `to` has room for. Returns how many bytes came before the first that can't be read.
  virtual size_t read(uint64_t address, std::span<uint8_t> to) = 0;

  // The parts of `range` that are worth reading, ascending, apart from each other. What isn't in them holds zeros, or is
  // as its file has it, or isn't memory at all. They may be larger than `range` (whole pages).
  virtual std::vector<base::AddressRange> touched(base::AddressRange range) = 0;
};

}  // namespace heaptap::scan
