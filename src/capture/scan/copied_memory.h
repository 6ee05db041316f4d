// Memory of a process as it was at the moment when it was stopped, for when it runs on (memory_copy.h). Memory that is
// neither copied nor known to be untouched, or unmodified from a module's file, can't be read.
#pragma once
#include <cstdint>
#include <vector>

#include "capture/process/page_states.h"
#include "capture/process/program_memory.h"
#include "capture/scan/module_files.h"
#include "capture/scan/page_store.h"

namespace heaptap::scan {

class CopiedMemory final : public process::ProgramMemory {
 public:
  struct Parts {
    std::vector<process::Mapping> map;
    process::PageStates states;
    std::vector<CopiedRange> ranges;  // ascending, disjoint
    PageStore store;                  // with their bytes
    ModuleFiles files;
    uint64_t again_bytes = 0;  // of what was read while the process was stopped
  };
  explicit CopiedMemory(Parts parts);

  size_t read_some(uint64_t address, void* to, size_t bytes) const override;
  std::vector<base::AddressRange> touched_ranges(uint64_t begin, uint64_t end) override;
  [[nodiscard]] uint64_t skip_untouched(uint64_t begin, uint64_t end) const override {
    return states_.skip_untouched({begin, end});
  }
  [[nodiscard]] const process::PageStates& states() const { return states_; }
  [[nodiscard]] uint64_t copied_bytes() const { return copied_bytes_; }
  [[nodiscard]] uint64_t again_bytes() const { return again_bytes_; }

 private:
  [[nodiscard]] size_t read_part(uint64_t address, std::span<uint8_t> to) const;

  process::PageStates states_;
  std::vector<CopiedRange> ranges_;
  PageStore store_;
  ModuleFiles files_;
  uint64_t copied_bytes_ = 0;
  uint64_t again_bytes_ = 0;
};

}  // namespace heaptap::scan
