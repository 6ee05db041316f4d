// A copy of the segment that holds a module's unwind tables, of which only the pages that are needed are filled.
#pragma once
#include <unordered_set>

#include "target/module_image.h"
#include "target/process_memory.h"
#include "unwind/row.h"

namespace heaptap::target {

class CfiCopy {
 public:
  CfiCopy(const ProcessMemory& memory, const ModuleImage& module);
  ~CfiCopy();
  CfiCopy(const CfiCopy&) = delete;
  CfiCopy& operator=(const CfiCopy&) = delete;

  // `Cpu` is an arch's Unwinding: that of the target.
  template <typename Cpu>
  unwind::Row row_for(uint64_t pc);

 private:
  void fill(uint64_t begin, uint64_t bytes);
  // An entry of .eh_frame: length, then what it says. Returns the distance back to its CIE; 0: none.
  uint64_t fill_entry(uint64_t address);

  const ProcessMemory& memory_;
  AddressRange range_;
  uint64_t header_;
  uint8_t* copy_ = nullptr;
  std::unordered_set<uint64_t> filled_;
};

}  // namespace heaptap::target
