// Heap scanner: finds the words of a target's memory that point to its blocks. Two steps, so that the target is stopped
// only while its memory is being read:
//
//   collect()   while it is stopped: reads each piece of memory once and keeps possible pointers
//   resolve()   after it continues: determines the block that each points to, and how
//
// Roots within blocks: a word of kGlobal or kMapping that lies in a block counts as the block's, not as a root. A
// block's pointers to itself are left out.
#pragma once
#include <memory>

#include "capture/process/program_memory.h"
#include "capture/scan/findings.h"
#include "capture/scan/scan_input.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

struct ScanLimits {
  // Buffer for words until resolve(). If it is full, collect() resolves them itself: that takes longer, but the result
  // is the same.
  size_t candidate_bytes = size_t{256} << 20;
};

class HeapScanner {
 public:
  // Builds the index of blocks. Possible before the target is stopped, if the blocks are known by then.
  explicit HeapScanner(ScanInput input, ScanLimits limits = {});
  HeapScanner(HeapScanner&&) noexcept;
  HeapScanner& operator=(HeapScanner&&) noexcept;
  ~HeapScanner();

  void collect(process::ProgramMemory& memory);
  // Of collect().
  [[nodiscard]] uint64_t read_bytes() const;
  [[nodiscard]] uint64_t skipped_bytes() const;

  // The two steps may run in two scanners, on two machines. The one beside the target knows the blocks' addresses and
  // sizes, and has room for all candidates; it hands over its findings after collect(), once.
  [[nodiscard]] Findings hand_over();
  // Replaces collect() in the other one. Both must have the same blocks and root ranges: false if these differ or are
  // invalid. Then there is nothing to resolve.
  [[nodiscard]] bool take(Findings findings);

  // Call after collect() or take(), once. Needs no target. Number, reason, times, threads and events_before of the scan
  // are set by the caller; notes may be present already.
  [[nodiscard]] model::HeapScan resolve();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::scan
