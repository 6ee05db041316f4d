// Parts of a leak scan that are the same for a stopped process and for a core file.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/process/program_memory.h"
#include "capture/scan/memory_reader.h"
#include "capture/scan/root_finder.h"
#include "capture/scan/scan_input.h"
#include "capture/supervision/process_scan.h"
#include "common/base/address_range.h"
#include "common/model/heap_scan.h"

namespace heaptap::supervision {

// The scanner's view of the memory, which counts the bytes read.
class MemoryCounter : public scan::MemoryReader {
 public:
  explicit MemoryCounter(process::ProgramMemory& memory) : memory_(memory) {}

  size_t read(uint64_t address, std::span<uint8_t> to) override {
    const size_t bytes = memory_.read_some(address, to.data(), to.size());
    read_bytes_ += bytes;
    return bytes;
  }

  std::vector<base::AddressRange> touched(base::AddressRange range) override {
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

// Whether the signal's default action ends a process with a core dump.
bool dumps_core(int signal);

// Ranges of live blocks, including small gaps: enough to tell heaps from other memory.
std::vector<base::AddressRange> heap_ranges(const std::vector<model::ScannedBlock>& blocks);

scan::ScanInput scan_input(Recorded recorded, const scan::Roots& roots);

}  // namespace heaptap::supervision
